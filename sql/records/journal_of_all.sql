-- The newest entries of the journal of processes $1 before number $2 (NULL: from the newest on), at most $3. '' stands for
-- what concerns no process.
SELECT j.id AS number, j.process_name AS process, j.act, j.lane, to_char(j.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS at,
       j.who, j.why, j.row_id
FROM seriatim.journal AS j
WHERE j.process_name = ANY ($1::text[]) AND ($2::bigint IS NULL OR j.id < $2::bigint)
ORDER BY j.id DESC
LIMIT $3::bigint
