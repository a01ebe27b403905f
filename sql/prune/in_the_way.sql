-- Who holds locks on table $1 or partition $2, the longest first.
SELECT l.pid, a.application_name, (extract(epoch FROM clock_timestamp() - a.xact_start))::bigint AS seconds
FROM pg_locks AS l
JOIN pg_stat_activity AS a ON a.pid = l.pid
WHERE l.locktype = 'relation' AND l.relation IN ($1::oid, $2::oid) AND l.granted
  AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())
  AND l.pid <> pg_backend_pid()
ORDER BY a.xact_start NULLS LAST
LIMIT 1
