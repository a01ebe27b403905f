-- Lanes of process $1, those of before it was cut anew too, and the number after which each one's ledger begins.
SELECT b.lane, coalesce(max(c.ledger_start), -1) AS ledger_start
FROM (SELECT lane FROM seriatim.ledger WHERE process_name = $1
      UNION SELECT lane FROM seriatim.cursor WHERE process_name = $1) AS b
LEFT JOIN seriatim.cursor AS c ON c.process_name = $1 AND c.lane = b.lane
GROUP BY b.lane
ORDER BY b.lane
