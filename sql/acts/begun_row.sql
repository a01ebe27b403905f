-- Where row $2 stands, if it is of a batch that was begun: rows before it may go out after it.
SELECT (extract(epoch FROM position_at) * 1000000)::bigint AS created_at_us
FROM seriatim.aside
WHERE process_name = $1 AND row_id = $2 AND begun AND parked_at IS NULL AND position_at IS NOT NULL
