-- How far process $1 had come, by its ledger.
SELECT to_id, to_char(to_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS"Z"') AS to_at
FROM seriatim.ledger
WHERE process_name = $1
ORDER BY lane DESC, number DESC
LIMIT 1
