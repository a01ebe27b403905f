-- An entry of the journal. $1 its number
SELECT j.id AS number, j.act, to_char(j.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS at, j.who, j.why
FROM seriatim.journal AS j
WHERE j.id = $1::bigint
