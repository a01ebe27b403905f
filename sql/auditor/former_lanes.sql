-- Lanes of before the process was cut into $2, of which there are ids to compare with.
SELECT DISTINCT lane, lanes
FROM seriatim.ledger
WHERE process_name = $1 AND lanes <> $2::integer AND ids IS NOT NULL
ORDER BY lanes, lane
