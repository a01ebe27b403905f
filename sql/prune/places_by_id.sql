-- As places_by_created_at.sql, in the order of an identity column.
-- $1 process  $3, $4 the first and the last of the ids
WITH rows AS MATERIALIZED (
    SELECT t.{id}::text AS id, t.{id} AS place, hashtextextended(({key})::text, 0) AS hash
    FROM {table} AS t
    WHERE t.{id} = ANY ($2::{id_type}[]) AND ({where})
), near AS MATERIALIZED (
    SELECT l.lane, l.lanes, l.number, l.from_id, l.to_id, l.ids, l.ranges
    FROM seriatim.ledger AS l
    WHERE l.process_name = $1 AND l.to_id::bigint >= $3::bigint
      AND (l.from_id IS NULL OR l.from_id::bigint < $4::bigint)
    UNION ALL
    SELECT c.lane, c.lanes, NULL, c.bucket_id, c.position_id, c.bucket_ids,
           c.bucket_ranges
    FROM seriatim.cursor AS c
    WHERE c.process_name = $1 AND c.position_id IS NOT NULL
), noted AS (
    SELECT DISTINCT ON (n.id) n.id, n.lane, n.number
    FROM (SELECT lane, number, seriatim.ledger_ids(ids, ranges) AS id FROM near) AS n
    ORDER BY n.id, n.number
), standing AS (
    SELECT DISTINCT ON (r.id) r.id, n.lane, n.number, n.ids IS NULL AS sealed
    FROM rows AS r
    CROSS JOIN (SELECT DISTINCT lanes FROM near) AS cut
    JOIN near AS n
      ON n.lanes = cut.lanes
     AND n.lane = coalesce((r.hash % cut.lanes + cut.lanes) % cut.lanes, 0)
     AND (n.from_id IS NULL OR n.from_id::bigint < r.place)
     AND r.place <= n.to_id::bigint
    WHERE NOT EXISTS (SELECT FROM noted AS d WHERE d.id = r.id)
    ORDER BY r.id, n.number
)
SELECT r.id, coalesce(d.lane, s.lane) AS lane, coalesce(d.number, s.number) AS number,
       d.id IS NOT NULL AS noted, s.id IS NOT NULL AS standing, coalesce(s.sealed, false) AS sealed
FROM rows AS r
LEFT JOIN noted AS d ON d.id = r.id
LEFT JOIN standing AS s ON s.id = r.id
