-- Rows of lane $2 of $5 that are aside and come after $3, $4 ($4 NULL: all), up to $6, $7 ($7 NULL: all), are so no more:
-- they come again in their order, or are jumped over.
DELETE FROM seriatim.aside AS a
WHERE a.process_name = $1
  AND CASE WHEN a.parked_at IS NULL THEN a.lane
      ELSE (a.key_hash % $5::bigint + $5::bigint) % $5::bigint END = $2::integer
  AND ($4::text IS NULL
       OR $3::timestamptz IS NULL OR ({place:a.position_at,a.row_id}) > ({place:$3,$4}))
  AND ($6::timestamptz IS NULL AND $7::text IS NULL OR ({place:a.position_at,a.row_id}) <= ({place:$6,$7}))
