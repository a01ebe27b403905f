-- As ledger_cut_by_created_at.sql. $3 the place; NULL: before the first row
SELECT l.number, l.from_at, l.from_id,
       CASE WHEN l.ids IS NOT NULL THEN seriatim.ledger_list(l.ids, l.ranges) END AS ids
FROM seriatim.ledger AS l
WHERE l.process_name = $1 AND l.lane = $2::integer
  AND ($3::bigint IS NULL OR l.to_id::bigint > $3::bigint)
ORDER BY l.number
LIMIT 1
