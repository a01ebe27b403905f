-- For how long nobody went through all that is behind the cursor of a lane; of a lane that is held, and neither halted
-- nor paused. Its holder's session is the beginning if that is later: the lane was nobody's before.
SELECT c.lane,
       floor(extract(epoch FROM clock_timestamp() - greatest(a.passed_at, c.holder_started)) * 1000)::bigint AS age_ms
FROM seriatim.cursor AS c
JOIN seriatim.lanes AS l ON l.process_name = c.process_name AND l.lane = c.lane AND l.holder IS NOT NULL
LEFT JOIN seriatim.audited AS a ON a.process_name = c.process_name AND a.lane = c.lane
WHERE c.process_name = $1 AND c.state IN ('running', 'retrying')
  AND greatest(a.passed_at, c.holder_started) IS NOT NULL
