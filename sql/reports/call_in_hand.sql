-- For how long the lane's handler has been called; no row if it is not.
SELECT (extract(epoch FROM clock_timestamp() - c.calling_since) * 1000)::bigint AS called_ms
FROM seriatim.cursor AS c
JOIN seriatim.lanes AS l ON l.process_name = c.process_name AND l.lane = c.lane AND l.holder IS NOT NULL
WHERE c.process_name = $1 AND c.lane = $2::integer AND c.call_epoch = c.epoch
