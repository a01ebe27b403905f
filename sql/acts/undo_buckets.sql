-- The ledger of lane $2 forgets what is gone back over: its buckets from $3 on (NULL: none). Answers where the
-- ledger begins, and how many rows are left in the others and behind the horizon.
WITH undone AS (
    DELETE FROM seriatim.ledger AS l
    WHERE l.process_name = $1 AND l.lane = $2::integer AND l.number >= $3::bigint
)
SELECT (SELECT c.ledger_start FROM seriatim.cursor AS c
        WHERE c.process_name = $1 AND c.lane = $2::integer) AS ledger_start,
       (SELECT coalesce(sum(l.rows), 0) FROM seriatim.ledger AS l
        WHERE l.process_name = $1 AND l.lane = $2::integer AND ($3::bigint IS NULL OR l.number < $3::bigint))
       + coalesce((SELECT h.rows FROM seriatim.horizon AS h WHERE h.process_name = $1 AND h.lane = $2::integer), 0) AS rows
