-- A lane that comes back, of the lanes from $2 up to $3, goes on with the number it had when it was there last; the rows
-- that were pruned of it then count no more.
WITH anew AS (
    UPDATE seriatim.horizon SET rows = 0 WHERE process_name = $1 AND lane BETWEEN $2::integer AND $3::integer
)
SELECT more.lane, coalesce(max(used.number), 0) AS number
FROM generate_series($2::integer, $3::integer) AS more (lane)
LEFT JOIN (SELECT lane, number FROM seriatim.ledger WHERE process_name = $1
           UNION ALL
           SELECT lane, number FROM seriatim.horizon WHERE process_name = $1) AS used USING (lane)
GROUP BY more.lane
ORDER BY more.lane
