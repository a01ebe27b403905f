-- Partitions of table $1 by range of one column, id ($2) or created_at ($3), that end at or before $4 or, by
-- id, before an id there is; oldest first. No default one, and none
-- without an end.  $5 the largest id there is
SELECT format('%I.%I', n.nspname, c.relname) AS name, c.oid::text AS oid, c.relkind = 'r' AS leaf,
       pg_has_role(c.relowner, 'USAGE') AND pg_has_role(parent.relowner, 'USAGE') AS owned,
       a.attname = $2 AS by_id,
       substring(pg_get_expr(c.relpartbound, c.oid) FROM 'TO \(''([^'']*)''\)$') AS upper
FROM pg_partitioned_table AS p
JOIN pg_attribute AS a ON a.attrelid = p.partrelid AND a.attnum = p.partattrs[0]
JOIN pg_inherits AS i ON i.inhparent = p.partrelid AND NOT i.inhdetachpending
JOIN pg_class AS c ON c.oid = i.inhrelid
JOIN pg_class AS parent ON parent.oid = p.partrelid
JOIN pg_namespace AS n ON n.oid = c.relnamespace
CROSS JOIN LATERAL (
    SELECT substring(pg_get_expr(c.relpartbound, c.oid) FROM 'TO \(''([^'']*)''\)$') AS text
) AS upper
WHERE p.partrelid = $1::oid AND p.partstrat = 'r' AND p.partnatts = 1
  AND upper.text IS NOT NULL
  AND CASE a.attname WHEN $3 THEN upper.text::timestamptz <= $4::timestamptz
                     WHEN $2 THEN upper.text::bigint <= $5::bigint
           ELSE false END
ORDER BY CASE WHEN a.attname = $2 THEN upper.text::bigint
              ELSE extract(epoch FROM upper.text::timestamptz)::bigint END
