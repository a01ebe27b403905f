-- Of the newest 1 000 rows: moments that several rows share, and whose rows were written in another order than their
-- ids have (reader/written_order.sql).
SELECT count(DISTINCT r.at) AS moments
FROM (
    SELECT n.at, row_number() OVER (ORDER BY n.at, n.id) AS by_id,
           row_number() OVER (ORDER BY n.at, n.statement, n.tableoid, n.ctid) AS as_written
    FROM (
        SELECT t.{id} AS id, t.{created_at} AS at, t.cmin::text::bigint AS statement, t.tableoid, t.ctid
        FROM {table} AS t
        WHERE isfinite(t.{created_at})
        ORDER BY t.{created_at} DESC, t.{id} DESC
        LIMIT 1000
    ) AS n
) AS r
WHERE r.by_id <> r.as_written
