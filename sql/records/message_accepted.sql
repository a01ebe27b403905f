UPDATE seriatim.alert
SET accepted = $2::integer, accepted_at = clock_timestamp(), last_error = NULL
WHERE id = $1::bigint AND accepted < $2::integer
