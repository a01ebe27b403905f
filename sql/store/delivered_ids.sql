-- Which of the ids $2 any lane of the process has delivered or set aside, wherever they were then:
-- a row whose key or created_at was changed since is not late. $3 ranges of the same ids; {}: they are no integers
SELECT noted.id
FROM (
    SELECT unnest(l.ids) AS id
    FROM seriatim.ledger AS l
    WHERE l.process_name = $1 AND l.ids IS NOT NULL
    UNION ALL
    SELECT unnest(c.bucket_ids)
    FROM seriatim.cursor AS c
    WHERE c.process_name = $1
) AS noted
WHERE noted.id = ANY ($2::text[])
UNION
SELECT seriatim.ledger_ids('{}', noted.ranges * $3::int8multirange)
FROM (
    SELECT l.ranges
    FROM seriatim.ledger AS l
    WHERE l.process_name = $1 AND l.ids IS NOT NULL
    UNION ALL
    SELECT c.bucket_ranges
    FROM seriatim.cursor AS c
    WHERE c.process_name = $1
) AS noted
WHERE noted.ranges && $3::int8multirange
