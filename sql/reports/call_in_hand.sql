-- For how long the lane's holder has been silent inside the transaction that holds the cursor: so long
-- its handler is called. No row where it is not, or where its backend is hidden from this role.
SELECT (extract(epoch FROM clock_timestamp() - a.state_change) * 1000)::bigint AS called_ms
FROM seriatim.cursor AS c
JOIN pg_stat_activity AS a ON a.pid = c.holder_pid AND a.backend_start = c.holder_started
WHERE c.process_name = $1 AND c.lane = $2::integer
  AND c.state = 'running' AND c.attempts > 0
  AND a.state = 'idle in transaction'
