-- The latest entry of one kind about a row, or about a lane. $1 process  $2 act  $3 lane  $4 row
SELECT j.id AS number, j.act, to_char(j.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS at,
       j.who, j.why
FROM seriatim.journal AS j
WHERE j.process_name = $1 AND j.act = $2
  AND ($3::integer IS NULL OR j.lane = $3::integer)
  AND ($4::text IS NULL OR j.row_id = $4::text)
ORDER BY j.id DESC
LIMIT 1
