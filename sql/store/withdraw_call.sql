-- A call was announced and is not made now, because a person asks for a turn. $1 process  $2 lane  $3 epoch
UPDATE seriatim.cursor
SET call_epoch = NULL, calling_since = NULL
WHERE process_name = $1 AND lane = $2::integer AND epoch = $3::bigint AND call_epoch = epoch
RETURNING pg_notify('seriatim_control', process_name)
