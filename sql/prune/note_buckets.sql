-- As rows.sql notes rows it deletes. $1 processes  $2 lanes  $3 numbers  $4 rows  $5 hashes
WITH buckets AS (
    SELECT s.process, s.lane, b.number, sum(s.rows) AS rows, bit_xor(s.hash) AS hash
    FROM unnest($1::text[], $2::integer[], $3::bigint[], $4::bigint[], $5::bigint[])
         AS s (process, lane, number, rows, hash)
    CROSS JOIN LATERAL (
        SELECT min(l.number) AS number FROM seriatim.ledger AS l
        WHERE l.process_name = s.process AND l.lane = s.lane AND l.number >= s.number
    ) AS b
    GROUP BY s.process, s.lane, b.number
)
UPDATE seriatim.ledger AS l
SET pruned_rows = l.pruned_rows + b.rows, pruned_hash = l.pruned_hash # b.hash
FROM buckets AS b
WHERE l.process_name = b.process AND l.lane = b.lane AND l.number = b.number
