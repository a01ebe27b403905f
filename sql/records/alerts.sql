-- Alerts on processes $1 ('': on none) before number $2 (NULL: from the newest on), at most $3.
SELECT a.id, a.process_name, nullif(a.lane, -1) AS lane, a.kind, a.summary,
       to_char(a.opened_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS opened_at,
       to_char(a.clear_since AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS clear_since,
       to_char(a.resolved_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS resolved_at,
       to_char(a.accepted_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS accepted_at
FROM seriatim.alert AS a
WHERE a.process_name = ANY ($1::text[]) AND ($2::bigint IS NULL OR a.id < $2::bigint)
ORDER BY a.id DESC
LIMIT $3::bigint
