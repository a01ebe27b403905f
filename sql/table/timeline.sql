-- Of the WAL now being written: pg_control_checkpoint() still names the old one after a promotion.
SELECT CASE WHEN NOT pg_is_in_recovery() THEN left(pg_walfile_name(pg_current_wal_lsn()), 8) END
