-- Parked rows in the order they go out in.
-- $1 process  $2 key; NULL: all  $3 after this number  $4 rows
SELECT p.row_id, p.number, p.key, p.holds_key, p.head, p.attempts, p.detail,
       to_char(p.parked_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS parked_at,
       p.redrive_at IS NOT NULL AS redriven, to_char(p.retry_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS retry_at,
       (extract(epoch FROM p.position_at) * 1000000)::bigint AS created_at_us
FROM seriatim.parked AS p
WHERE p.process_name = $1
  AND ($2::text IS NULL OR (p.key_hash = hashtextextended($2, 0) AND p.key = $2))
  AND p.number > $3::bigint
ORDER BY p.number
LIMIT $4::bigint
