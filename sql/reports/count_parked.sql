SELECT count(*) AS rows, count(*) FILTER (WHERE head) AS heads,
       count(*) FILTER (WHERE redrive_at IS NOT NULL) AS redriven,
       to_char(min(parked_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS since,
       (extract(epoch FROM min(parked_at)) * 1000000)::bigint AS since_us,
       EXISTS (SELECT FROM seriatim.aside AS a WHERE a.process_name = $1 AND a.state = 'due') AS due
FROM seriatim.parked
WHERE process_name = $1
