UPDATE seriatim.cursor
SET state = 'retrying', reason = NULL, failed_id = $4, detail = $5,
    next_attempt_at = clock_timestamp() + $6::bigint * interval '1 millisecond',
    lease_until = clock_timestamp() + $7::bigint * interval '1 millisecond'
WHERE process_name = $1 AND lane = $2::integer AND epoch = $3::bigint AND created_at = $8::timestamptz
  AND state IN ('running', 'retrying')
RETURNING 1
