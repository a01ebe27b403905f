-- The lanes of process $1 that $2 holds, or (before a drain, $3) that nobody alive holds, and their state.
-- $4 late_rows = 'deliver': the lookback in ms; rows from window_us on are the lane's to deliver. NULL: none are
SELECT c.lane, c.lanes, c.epoch, c.sequence,
       c.state IN ('running', 'retrying') AS moves,
       (extract(epoch FROM c.position_at) * 1000000)::bigint AS position_us, c.position_id,
       (extract(epoch FROM least(c.looked_at, c.position_at) - $4::bigint * interval '1 millisecond')
           * 1000000)::bigint AS window_us
FROM seriatim.cursor AS c
WHERE c.process_name = $1
  AND (c.holder = $2
       OR ($3::boolean AND NOT EXISTS (SELECT FROM seriatim.lanes AS l
                                       WHERE l.process_name = c.process_name AND l.lane = c.lane
                                         AND l.holder IS NOT NULL)))
ORDER BY c.lane
