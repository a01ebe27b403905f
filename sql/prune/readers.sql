-- Who reads rows of table $1 (oid): each cursor kept for it, for a table it is a partition of or for a
-- partition of it; each that does not say what it was kept for; each kept for another table of its name
-- $2; and the configured processes ($3 their names, $4 the oids of their tables), with a cursor or without.
-- A retired name reads nothing.
WITH RECURSIVE above AS (
    SELECT $1::oid AS oid
    UNION
    SELECT i.inhparent FROM pg_inherits AS i JOIN above ON i.inhrelid = above.oid
), below AS (
    SELECT $1::oid AS oid
    UNION
    SELECT i.inhrelid FROM pg_inherits AS i JOIN below ON i.inhparent = below.oid
), tree AS (
    SELECT oid::text FROM above UNION SELECT oid::text FROM below
), configured AS (
    SELECT u.name, u.oid, u.oid IN (SELECT oid FROM tree) AS here
    FROM unnest($3::text[], $4::text[]) AS u (name, oid)
)
SELECT coalesce(c.process_name, f.name) AS process, c.lane, c.lanes, c.state, c.reason, c.detail,
       (extract(epoch FROM c.position_at) * 1000000)::bigint AS position_us, c.position_id,
       coalesce(f.here, false) AS configured_here,
       f.name IS NOT NULL AND NOT f.here AS configured_elsewhere,
       c.identity ->> 'table_oid' IS NOT NULL AS table_known,
       coalesce(c.identity ->> 'table_oid' IN (SELECT oid FROM tree), false) AS kept_here,
       c.identity ->> 'table' AS kept_for,
       coalesce(c.identity ->> 'order_by', 'created_at') AS order_by,
       c.identity ->> 'id' AS id, c.identity ->> 'created_at' AS created_at,
       (SELECT coalesce(b.typname, t.typname)
        FROM pg_attribute AS a
        JOIN pg_type AS t ON t.oid = a.atttypid
        LEFT JOIN pg_type AS b ON b.oid = t.typbasetype
        WHERE a.attrelid = $1::oid AND a.attnum > 0 AND NOT a.attisdropped
          AND '"' || replace(a.attname, '"', '""') || '"' = c.identity ->> 'id') AS id_type
FROM (SELECT * FROM seriatim.cursor WHERE renamed_to IS NULL) AS c
FULL JOIN configured AS f ON f.name = c.process_name
WHERE f.here
   OR c.identity ->> 'table_oid' IN (SELECT oid FROM tree)
   OR (c.process_name IS NOT NULL AND c.identity ->> 'table_oid' IS NULL AND f.name IS NULL)
   OR c.identity ->> 'table' = $2
ORDER BY process, c.lane
