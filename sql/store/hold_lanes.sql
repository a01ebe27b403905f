-- Asks for a turn: no further call of these lanes is announced for $3 ms. Of several who ask, the one who asked last is
-- named. $1 process  $2 lane, NULL: all  $4 who
UPDATE seriatim.cursor
SET hold_by = $4, hold_until = clock_timestamp() + $3::bigint * interval '1 millisecond'
WHERE process_name = $1 AND ($2::integer IS NULL OR lane = $2::integer)
