-- Who has locked the cursor of a lane of process $1, or the whole table, and what that session is at.
SELECT 'pid ' || a.pid || coalesce(' (' || nullif(a.application_name, '') || ')', '') AS session,
       CASE WHEN a.state = 'active' AND a.wait_event IS NOT NULL THEN 'which waits for ' || a.wait_event
            ELSE 'which is ' || coalesce(a.state, 'hidden from this role') END AS does
FROM pg_stat_activity AS a
WHERE a.pid <> pg_backend_pid()
  AND (a.backend_xid IN (SELECT c.xmax FROM seriatim.cursor AS c WHERE c.process_name = $1)
       OR EXISTS (SELECT FROM pg_locks AS l
                  WHERE l.pid = a.pid AND l.granted AND l.locktype = 'relation'
                    AND l.relation = 'seriatim.cursor'::regclass
                    AND l.mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')))
UNION ALL
SELECT 'the prepared transaction ' || quote_literal(p.gid), 'which nobody has ended'
FROM pg_prepared_xacts AS p
WHERE p.transaction IN (SELECT c.xmax FROM seriatim.cursor AS c WHERE c.process_name = $1)
LIMIT 1
