-- The turn that $3 asked for is over, or not wanted any more. $1 process  $2 lane, NULL: all
UPDATE seriatim.cursor
SET hold_by = NULL, hold_until = NULL
WHERE process_name = $1 AND ($2::integer IS NULL OR lane = $2::integer) AND hold_by = $3
