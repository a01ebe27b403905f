-- How far the log is written, asked with each row and so after the snapshot that shows them: all their commits are
-- before it.
, pg_current_wal_insert_lsn()::text AS written
