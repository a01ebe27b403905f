-- The latest audits of process $1, at most $2.
SELECT to_char(r.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS at, r.who, r.sound, r.rows, r.hash,
       to_char(r.through_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS through_at, r.through_id, r.detail
FROM seriatim.audit_report AS r
WHERE r.process_name = $1
ORDER BY r.id DESC
LIMIT $2::bigint
