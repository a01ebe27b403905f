-- Who blocks each of the sessions $1, and who blocks those: the first of a queue has `depth` greatest. And who holds the
-- transactions $2, each given as "number". A prepared transaction has no session: pid is NULL.
-- `waiter`: "pid 4711" or "transaction 815".
WITH RECURSIVE queue (waiter, blocked, pid, depth) AS (
    SELECT w.pid, w.pid, b.pid, 1
    FROM unnest($1::integer[]) AS w (pid), unnest(pg_catalog.pg_blocking_pids(w.pid)) AS b (pid)
    UNION
    SELECT q.waiter, q.pid, b.pid, q.depth + 1
    FROM queue AS q, unnest(pg_catalog.pg_blocking_pids(q.pid)) AS b (pid)
    WHERE q.pid <> 0 AND q.depth < 8
), blockers AS (
    SELECT 'pid ' || q.waiter AS waiter, q.waiter AS waiter_pid, nullif(q.pid, 0) AS pid, max(q.depth) AS depth,
           -- A prepared one: it holds what the session that it blocks waits for.
           (SELECT number.transactionid
            FROM pg_catalog.pg_locks AS wanted
            JOIN pg_catalog.pg_locks AS held
              ON held.pid IS NULL AND held.granted AND held.locktype = wanted.locktype
              AND held.database IS NOT DISTINCT FROM wanted.database
              AND held.relation IS NOT DISTINCT FROM wanted.relation
              AND held.transactionid IS NOT DISTINCT FROM wanted.transactionid
            JOIN pg_catalog.pg_locks AS number
              ON number.pid IS NULL AND number.locktype = 'transactionid' AND number.granted
              AND number.virtualtransaction = held.virtualtransaction
            WHERE q.pid = 0 AND wanted.pid = min(q.blocked) AND NOT wanted.granted
            LIMIT 1) AS transaction
    FROM queue AS q
    GROUP BY q.waiter, q.pid
    UNION ALL
    SELECT 'transaction ' || t.number, NULL, l.pid, 1, l.transactionid
    FROM unnest($2::text[]) AS t (number)
    JOIN pg_catalog.pg_locks AS l ON l.locktype = 'transactionid' AND l.granted AND l.transactionid = t.number::xid
)
SELECT b.waiter, b.pid, p.gid, a.application_name, coalesce(a.usename, p.owner) AS usename,
       CASE WHEN b.pid IS NULL THEN 'prepared' ELSE a.state END AS state,
       (extract(epoch FROM clock.now - coalesce(a.xact_start, p.prepared)) * 1000)::bigint AS age_ms,
       (extract(epoch FROM clock.now - a.query_start) * 1000)::bigint AS statement_age_ms,
       (SELECT string_agg(DISTINCT l.relation::regclass::text, ', ')
        FROM pg_catalog.pg_locks AS l
        WHERE l.pid = b.waiter_pid AND (NOT l.granted OR l.locktype = 'tuple') AND l.relation IS NOT NULL
          AND l.database = (SELECT d.oid FROM pg_catalog.pg_database AS d
                            WHERE d.datname = pg_catalog.current_database())) AS relations
FROM blockers AS b
CROSS JOIN (SELECT pg_catalog.clock_timestamp() AS now) AS clock
LEFT JOIN pg_catalog.pg_stat_activity AS a ON a.pid = b.pid
LEFT JOIN pg_catalog.pg_prepared_xacts AS p ON b.pid IS NULL AND p.transaction = b.transaction
ORDER BY b.waiter, b.depth DESC, age_ms DESC NULLS LAST
