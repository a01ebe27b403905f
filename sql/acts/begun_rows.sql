-- The rows of a batch of lane $2 that was begun, in its order: the first of them that is still there is the one the lane
-- stands at, wherever its place is.
SELECT row_id, (extract(epoch FROM position_at) * 1000000)::bigint AS created_at_us
FROM seriatim.aside
WHERE process_name = $1 AND lane = $2::integer AND begun AND parked_at IS NULL AND position_at IS NOT NULL
ORDER BY number
