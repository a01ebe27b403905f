-- The first bucket of a lane that reaches past a place in the order.
-- $1 process  $2 lane  $3, $4 the place; NULL: before the first row
SELECT l.number, l.from_at, l.from_id,
       CASE WHEN l.ids IS NOT NULL THEN seriatim.ledger_list(l.ids, l.ranges) END AS ids
FROM seriatim.ledger AS l
WHERE l.process_name = $1 AND l.lane = $2::integer
  AND ($3::timestamptz IS NULL
       OR ({place:l.to_at,l.to_id}) > ({place:$3,$4}))
ORDER BY l.number
LIMIT 1
