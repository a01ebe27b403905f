-- How far the log is written, asked with each row and so after the snapshot that shows them: all their commits are
-- before it. Behind the columns of rows_within_bytes.sql.
, NULL::bigint AS payload_bytes, NULL::bigint AS other_bytes, NULL::boolean AS late, NULL::bigint AS found,
pg_current_wal_insert_lsn()::text AS written
