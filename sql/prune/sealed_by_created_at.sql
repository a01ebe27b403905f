-- A sealed bucket: what must be left of it, and what is in its range now.
-- $1 process  $2 lane  $3 number
SELECT l.rows - l.pruned_rows AS rows, l.hash # l.pruned_hash AS hash,
       now_there.rows AS rows_there, now_there.hash AS hash_there
FROM seriatim.ledger AS l
CROSS JOIN LATERAL (
    SELECT count(*) AS rows, coalesce(bit_xor(hashtextextended(t.{id}::text, 0)), 0) AS hash
    FROM {table} AS t
    WHERE t.{created_at} >= coalesce(l.from_at, '-infinity')
      AND (l.from_at IS NULL OR (t.{created_at}, t.{id}) > (l.from_at, l.from_id::{id_type}))
      AND t.{created_at} <= l.to_at
      AND (t.{created_at}, t.{id}) <= (l.to_at, l.to_id::{id_type})
      AND isfinite(t.{created_at})
      AND ({where})
      AND (l.lanes = 1 OR coalesce((hashtextextended(({key})::text, 0) % l.lanes + l.lanes) % l.lanes, 0) = $2::integer)
) AS now_there
WHERE l.process_name = $1 AND l.lane = $2::integer AND l.number = $3::bigint
