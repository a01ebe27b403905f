-- The holders of lock_holders.sql as people know them, oldest first. Parameters as there.
SELECT h.*,
       p.gid,
       a.application_name,
       coalesce(a.usename, p.owner) AS usename,
       CASE WHEN h.pid IS NULL THEN 'prepared' ELSE a.state END AS state,
       (extract(epoch FROM clock.now - coalesce(a.xact_start, p.prepared)) * 1000)::bigint
           AS age_ms,
       (extract(epoch FROM clock.now - a.query_start) * 1000)::bigint AS statement_age_ms
FROM (
{lock_holders}
) AS h
CROSS JOIN (SELECT pg_catalog.clock_timestamp() AS now) AS clock
LEFT JOIN pg_catalog.pg_stat_activity AS a ON a.pid = h.pid
LEFT JOIN LATERAL (
    SELECT x.gid, x.owner, x.prepared
    FROM pg_catalog.pg_locks AS l JOIN pg_catalog.pg_prepared_xacts AS x ON x.transaction = l.transactionid
    WHERE l.locktype = 'transactionid' AND h.pid IS NULL AND l.pid IS NULL
      AND l.virtualtransaction = h.virtualtransaction
    LIMIT 1
) AS p ON true
ORDER BY age_ms DESC NULLS LAST
