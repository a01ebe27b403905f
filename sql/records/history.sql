-- What the lanes of process $1 did in the last $2 minutes, the newest first, at most $3 rows.
SELECT to_char(h.minute AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS minute, h.lane, h.delivered, h.failures, h.calls,
       h.call_sum_us, h.call_max_us, h.age_max_us
FROM seriatim.history AS h
WHERE h.process_name = $1 AND h.minute > date_trunc('minute', clock_timestamp()) - $2::bigint * interval '1 minute'
ORDER BY h.minute DESC, h.lane DESC
LIMIT $3::bigint
