-- Who may still insert: holders of write-class locks on the table, those it is a partition of and
-- its partitions. Always one row, so that a table put in another's place is noticed.
-- Schemas are named: a search_path must not put another pg_locks in the place of this one.
-- No more is read here than the fence needs, at every poll; names and ages (writers.sql) cost as much again.
-- $1 the table's name  $2 its oid when the session began
WITH RECURSIVE above AS (
    SELECT $2::oid AS oid
    UNION
    SELECT i.inhparent FROM pg_catalog.pg_inherits AS i JOIN above ON i.inhrelid = above.oid
), below AS (
    SELECT $2::oid AS oid
    UNION
    SELECT i.inhrelid FROM pg_catalog.pg_inherits AS i JOIN below ON i.inhparent = below.oid
), tree AS (
    SELECT oid FROM above UNION SELECT oid FROM below
), holders AS (
    SELECT DISTINCT l.virtualtransaction, l.pid
    FROM pg_catalog.pg_locks AS l
    WHERE l.locktype = 'relation'
      AND l.granted
      AND l.database = (SELECT d.oid FROM pg_catalog.pg_database AS d WHERE d.datname = pg_catalog.current_database())
      AND l.relation IN (SELECT oid FROM tree)
      AND l.mode IN ('RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock',
                     'AccessExclusiveLock')
      AND l.pid IS DISTINCT FROM pg_catalog.pg_backend_pid()
)
SELECT pg_catalog.to_regclass($1)::oid IS NOT DISTINCT FROM $2::oid AS same_table,
       pg_catalog.row_security_active($2::oid) AS policed,
       h.virtualtransaction,
       h.pid
FROM (SELECT) AS always
LEFT JOIN holders AS h ON true
