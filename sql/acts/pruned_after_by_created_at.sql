-- Rows pruned of the buckets of a lane that reach past a place: they cannot come again.
-- $1 process  $2 lane  $3, $4 the place; NULL: before the first row
SELECT coalesce(sum(l.pruned_rows), 0)::bigint
FROM seriatim.ledger AS l
WHERE l.process_name = $1 AND l.lane = $2::integer AND l.pruned_rows > 0
  AND ($3::timestamptz IS NULL OR (l.to_at, l.to_id::{id_type}) > ($3::timestamptz, $4::{id_type}))
