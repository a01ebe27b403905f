-- The relays that run one of processes $1, at most 1000. One that no longer says so is forgotten after a day.
SELECT r.name, r.version, r.config_hash, r.processes, to_char(r.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS started_at,
       greatest(floor(extract(epoch FROM clock_timestamp() - r.seen_at) * 1000), 0)::bigint AS seen_ms
FROM seriatim.relay AS r
WHERE r.processes && $1::text[]
ORDER BY r.started_at, r.name
LIMIT 1000
