-- As forget_aside_by_created_at.sql, in the order of an identity column; $3 decides nothing.
DELETE FROM seriatim.aside AS a
WHERE a.process_name = $1
  AND CASE WHEN a.parked_at IS NULL THEN a.lane
      ELSE (a.key_hash % $5::bigint + $5::bigint) % $5::bigint END = $2::integer
  AND ($4::text IS NULL OR a.row_id::bigint > $4::bigint OR $3::timestamptz IS NULL)
