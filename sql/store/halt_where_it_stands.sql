-- $1 process  $2 lane  $3 epoch  $4 row  $5 what was said  $6 code
UPDATE seriatim.cursor
SET state = 'halted', failed_id = $4, detail = $5, reason = $6, next_attempt_at = NULL
WHERE process_name = $1 AND lane = $2::integer AND epoch = $3::bigint
  AND state IN ('running', 'retrying')
RETURNING *
