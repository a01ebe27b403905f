-- Try message $2 of alert $1 again after $3 ms.
UPDATE seriatim.alert
SET next_try_at = clock_timestamp() + $3::bigint * interval '1 millisecond', last_error = $4
WHERE id = $1::bigint AND turn = $2::integer AND accepted < turn
