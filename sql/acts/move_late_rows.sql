-- Late rows that are aside go out in the lane that has their key if there are $2 lanes (as lane_filter.sql).
UPDATE seriatim.aside AS a
SET lane = (a.key_hash % $2::bigint + $2::bigint) % $2::bigint
WHERE a.process_name = $1 AND a.parked_at IS NULL AND a.late
