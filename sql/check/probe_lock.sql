-- The lock of an INSERT, without a row: in nobody's way but that of DDL, for which it does not wait.
LOCK TABLE {table} IN ROW EXCLUSIVE MODE NOWAIT;
SELECT pg_backend_pid()
