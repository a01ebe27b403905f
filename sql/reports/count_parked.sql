-- Rows of process $1 that wait for a person, and those of keys that are held and go out again by themselves. Since when: of
-- keys whose first row has failed. Rows are set aside as well to leave room for other keys, or because they are late.
WITH held AS (
    SELECT a.key_hash, a.key, a.attempts > 0 AS failed FROM seriatim.aside AS a
    WHERE a.process_name = $1 AND a.head AND a.holds_key AND a.retry_at IS NOT NULL
), aside AS (
    SELECT p.*, (p.head AND p.retry_at IS NOT NULL) OR h.key_hash IS NOT NULL AS held, h.failed
    FROM seriatim.parked AS p
    LEFT JOIN held AS h ON p.holds_key AND h.key_hash = p.key_hash AND h.key IS NOT DISTINCT FROM p.key
    WHERE p.process_name = $1
)
SELECT count(*) FILTER (WHERE NOT held) AS rows, count(*) FILTER (WHERE NOT held AND head) AS heads,
       count(*) FILTER (WHERE NOT held AND redrive_at IS NOT NULL) AS redriven,
       to_char(min(parked_at) FILTER (WHERE NOT held) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS since,
       (extract(epoch FROM min(parked_at) FILTER (WHERE NOT held)) * 1000000)::bigint AS since_us,
       count(*) FILTER (WHERE held) AS held_rows, count(*) FILTER (WHERE held AND head) AS held_keys,
       to_char(min(parked_at) FILTER (WHERE held AND failed) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS held_since,
       (extract(epoch FROM min(parked_at) FILTER (WHERE held AND failed)) * 1000000)::bigint AS held_since_us,
       EXISTS (SELECT FROM seriatim.aside AS a WHERE a.process_name = $1 AND a.state = 'due') AS due
FROM aside
