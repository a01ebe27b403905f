-- Lanes of before the process was cut into $2 that the ledger still knows.
SELECT DISTINCT lane, lanes
FROM seriatim.ledger
WHERE process_name = $1 AND lanes <> $2::integer
ORDER BY lanes, lane
