-- Parked rows of process $1 that an act would take: row $2 (and, with $5, the rows of the key it holds), or those of key $3,
-- or ($4) all. Answers how many, and a hash over which they are: each row that is parked gets a number of its own, and one
-- that was redriven and failed again has more attempts.
WITH named AS (
    SELECT * FROM seriatim.parked AS p WHERE p.process_name = $1 AND p.row_id = $2
), chosen AS (
    SELECT p.number, p.attempts
    FROM seriatim.parked AS p
    WHERE p.process_name = $1
      AND ($4::boolean
           OR p.row_id = $2
           OR ($5::boolean AND p.holds_key
               AND EXISTS (SELECT FROM named AS n
                           WHERE n.holds_key AND n.key_hash = p.key_hash
                             AND n.key IS NOT DISTINCT FROM p.key))
           OR ($3::text IS NOT NULL AND p.key_hash = hashtextextended($3, 0) AND p.key = $3))
)
SELECT count(*) AS rows,
       encode(sha256(convert_to(concat_ws('|', 'parked', $1, count(*), max(number), sum(number),
                                            sum(attempts)), 'UTF8')), 'hex') AS plan
FROM chosen
