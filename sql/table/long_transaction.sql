-- The transaction that is open for longest, if it is for more than $1 ms; of those whose beginning this role may see.
SELECT pid, application, usename, gid, age_ms
FROM (
    SELECT a.pid, a.application_name AS application, a.usename::text AS usename, NULL AS gid,
           (extract(epoch FROM clock_timestamp() - a.xact_start) * 1000)::bigint AS age_ms
    FROM pg_stat_activity AS a
    WHERE a.pid <> pg_backend_pid() AND a.xact_start IS NOT NULL
    UNION ALL
    SELECT NULL, NULL, p.owner::text, p.gid, (extract(epoch FROM clock_timestamp() - p.prepared) * 1000)::bigint
    FROM pg_prepared_xacts AS p
    WHERE p.database = current_database()
) AS open
WHERE age_ms > $1::bigint
ORDER BY age_ms DESC
LIMIT 1
