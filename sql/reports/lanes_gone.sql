-- Lanes that were there before the process was cut into $2.
SELECT DISTINCT lane
FROM seriatim.ledger
WHERE process_name = $1 AND lane >= $2::integer
ORDER BY lane
