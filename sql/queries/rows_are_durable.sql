-- Everything written by now is flushed (how far it is written is read first), so the commits of all rows seen
-- before are. Not where a standby has to confirm: a row of a producer that does not wait for it is seen earlier.
SELECT pg_current_wal_insert_lsn() <= pg_current_wal_flush_lsn()
       AND current_setting('synchronous_standby_names') = ''
