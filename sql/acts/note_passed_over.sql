-- The rows of lane $2 that its ledger accounts for in the buckets after $3 up to $4 were passed over by entry $5 of the
-- journal.
INSERT INTO seriatim.passed_over (process_name, lane, entry, ids, ranges, to_at, to_id)
SELECT l.process_name, l.lane, $5::bigint, l.ids, coalesce(l.ranges, '{}'), l.to_at, l.to_id
FROM seriatim.ledger AS l
WHERE l.process_name = $1 AND l.lane = $2::integer AND l.number > $3::bigint AND l.number <= $4::bigint
ORDER BY l.number
