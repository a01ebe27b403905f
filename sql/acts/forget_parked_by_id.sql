-- As forget_parked_by_created_at.sql, in the order of an identity column; $3 decides nothing.
DELETE FROM seriatim.parked AS p
WHERE p.process_name = $1 AND (p.key_hash % $5::bigint + $5::bigint) % $5::bigint = $2::integer
  AND ($4::text IS NULL OR p.row_id::bigint > $4::bigint OR $3::timestamptz IS NULL)
