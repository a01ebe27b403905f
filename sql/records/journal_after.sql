-- The entries of the journal of processes $1 after number $2, the oldest first, at most $3.
SELECT j.id AS number, j.process_name AS process, j.act, j.lane, to_char(j.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS at,
       j.who, j.why, j.row_id
FROM seriatim.journal AS j
WHERE j.process_name = ANY ($1::text[]) AND j.id > $2::bigint
ORDER BY j.id
LIMIT $3::bigint
