-- What was written when the rows were read ($11; NULL: what is by now, which is read first) is flushed, so their
-- commits are. Not where a standby has to confirm: a row of a producer that does not wait for it is seen earlier.
SELECT coalesce($11::pg_lsn, pg_current_wal_insert_lsn()) <= pg_current_wal_flush_lsn()
       AND current_setting('synchronous_standby_names') = ''
