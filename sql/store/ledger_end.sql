-- How far process $1 had come, by its ledger or, if all of that was pruned, by its horizon.
SELECT to_id, to_char(to_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS"Z"') AS to_at
FROM (SELECT to_id, to_at, lane, number FROM seriatim.ledger WHERE process_name = $1
      UNION ALL
      SELECT id, at, lane, number FROM seriatim.horizon WHERE process_name = $1 AND id IS NOT NULL) AS noted
ORDER BY lane DESC, number DESC
LIMIT 1
