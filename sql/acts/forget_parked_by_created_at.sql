-- Parked rows of lane $2 of $5 after $3, $4 ($4 NULL: all) come again in their order, so they are no longer parked.
DELETE FROM seriatim.parked AS p
WHERE p.process_name = $1 AND (p.key_hash % $5::bigint + $5::bigint) % $5::bigint = $2::integer
  AND ($4::text IS NULL
       OR (p.position_at, p.row_id::{id_type}) > ($3::timestamptz, $4::{id_type}))
