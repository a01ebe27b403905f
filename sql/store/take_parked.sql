-- Parked row $2 was handed over; the next one of its key is the first now. Answers whether there is one.
WITH gone AS (
    DELETE FROM seriatim.parked WHERE process_name = $1 AND row_id = $2 RETURNING *
), next AS (
    SELECT p.row_id
    FROM seriatim.parked AS p JOIN gone AS g
      ON p.process_name = g.process_name AND p.key_hash = g.key_hash AND p.number > g.number
    WHERE g.holds_key AND p.holds_key AND p.key IS NOT DISTINCT FROM g.key
    ORDER BY p.number
    LIMIT 1
), first AS (
    UPDATE seriatim.parked AS p
    SET head = true
    FROM next AS n
    WHERE p.process_name = $1 AND p.row_id = n.row_id
)
SELECT g.key, g.holds_key, EXISTS (SELECT FROM next) AS queue_goes_on FROM gone AS g
