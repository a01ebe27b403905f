-- Who blocks each of the sessions $1, and who blocks those: the first of a queue has `depth` greatest. And who holds the
-- transactions $2, each given as "number". A prepared transaction has no session: pid is NULL.
WITH RECURSIVE queue (waiter, pid, depth) AS (
    SELECT w.pid::text, b.pid, 1
    FROM unnest($1::integer[]) AS w (pid), unnest(pg_catalog.pg_blocking_pids(w.pid)) AS b (pid)
    UNION
    SELECT q.waiter, b.pid, q.depth + 1
    FROM queue AS q, unnest(pg_catalog.pg_blocking_pids(q.pid)) AS b (pid)
    WHERE q.pid <> 0 AND q.depth < 8
), blockers AS (
    SELECT q.waiter, nullif(q.pid, 0) AS pid, max(q.depth) AS depth,
           (SELECT l.transactionid FROM pg_catalog.pg_locks AS l
            WHERE q.pid = 0 AND l.pid = q.waiter::integer AND l.locktype = 'transactionid' AND NOT l.granted
            LIMIT 1) AS transaction
    FROM queue AS q
    GROUP BY q.waiter, q.pid
    UNION ALL
    SELECT t.number, l.pid, 1, l.transactionid
    FROM unnest($2::text[]) AS t (number)
    JOIN pg_catalog.pg_locks AS l ON l.locktype = 'transactionid' AND l.granted AND l.transactionid = t.number::xid
)
SELECT b.waiter, b.pid, p.gid, a.application_name, coalesce(a.usename, p.owner) AS usename,
       CASE WHEN b.pid IS NULL THEN 'prepared' ELSE a.state END AS state,
       (extract(epoch FROM pg_catalog.clock_timestamp() - coalesce(a.xact_start, p.prepared)) * 1000)::bigint AS age_ms,
       (extract(epoch FROM pg_catalog.clock_timestamp() - a.query_start) * 1000)::bigint AS statement_age_ms,
       (SELECT string_agg(DISTINCT l.relation::regclass::text, ', ')
        FROM pg_catalog.pg_locks AS l
        WHERE l.pid::text = b.waiter AND (NOT l.granted OR l.locktype = 'tuple') AND l.relation IS NOT NULL
          AND l.database = (SELECT d.oid FROM pg_catalog.pg_database AS d
                            WHERE d.datname = pg_catalog.current_database())) AS relations
FROM blockers AS b
LEFT JOIN pg_catalog.pg_stat_activity AS a ON a.pid = b.pid
LEFT JOIN pg_catalog.pg_prepared_xacts AS p ON b.pid IS NULL AND p.transaction = b.transaction
ORDER BY b.waiter, b.depth DESC, age_ms DESC NULLS LAST
