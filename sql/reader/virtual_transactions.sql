-- All transactions that may still bring a row stamped when they began: the virtual ones, of which every role sees
-- all, and the prepared ones, which have no virtual transaction any more.
SELECT l.virtualtransaction || '@' || l.pid AS transaction, false AS prepared
FROM pg_catalog.pg_locks AS l
WHERE l.locktype = 'virtualxid' AND l.granted AND l.mode = 'ExclusiveLock' AND l.pid <> pg_catalog.pg_backend_pid()
UNION ALL
SELECT p.transaction::text, true
FROM pg_catalog.pg_prepared_xacts AS p
WHERE p.database = pg_catalog.current_database()
