-- Rows of lane $2 of $3 are handed over again, in the order they were set aside: row $4 and the rows of the key it holds, or
-- those of key $5, or ($6) all. Answers how many.
WITH named AS (
    SELECT * FROM seriatim.aside AS a WHERE a.process_name = $1 AND a.row_id = $4
), due AS (
    UPDATE seriatim.aside AS p
    SET state = 'due', due_at = coalesce(p.due_at, clock_timestamp())
    WHERE p.process_name = $1 AND p.parked_at IS NOT NULL
      AND (p.key_hash % $3::bigint + $3::bigint) % $3::bigint = $2::integer
      AND ($6::boolean
           OR p.row_id = $4
           OR (p.holds_key
               AND EXISTS (SELECT FROM named AS n
                           WHERE n.holds_key AND n.key_hash = p.key_hash
                             AND n.key IS NOT DISTINCT FROM p.key))
           OR ($5::text IS NOT NULL AND p.key_hash = hashtextextended($5, 0) AND p.key = $5))
    RETURNING 1
)
SELECT count(*) AS rows FROM due
