UPDATE seriatim_position
SET sequence = $3::bigint, id = $4, epoch = $5::bigint, updated_at = clock_timestamp()
WHERE process_name = $1 AND lane = $2::integer
