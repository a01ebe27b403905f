buckets AS (  -- one that was merged meanwhile is in the next one there is
    SELECT s.process, s.lane, b.number, sum(s.rows) AS rows, bit_xor(s.hash) AS hash
    FROM sums AS s
    CROSS JOIN LATERAL (
        SELECT min(l.number) AS number FROM seriatim.ledger AS l
        WHERE l.process_name = s.process AND l.lane = s.lane AND l.number >= s.number
    ) AS b
    GROUP BY s.process, s.lane, b.number
), noted AS (  -- ids of an unsealed bucket stay: rows are found by them, and counted by count and hash
    UPDATE seriatim.ledger AS l
    SET rows = l.rows - b.rows, hash = coalesce(l.hash, seriatim.ledger_hash(l.ids, l.ranges)) # b.hash
    FROM buckets AS b
    WHERE l.process_name = b.process AND l.lane = b.lane AND l.number = b.number
), counted AS (  -- not what a lane had before it was gone for a time
    INSERT INTO seriatim.horizon AS h (process_name, lane, rows)
    SELECT b.process, b.lane, sum(b.rows)
    FROM buckets AS b
    JOIN seriatim.cursor AS c ON c.process_name = b.process AND c.lane = b.lane AND b.number > c.ledger_start
    GROUP BY b.process, b.lane
    ON CONFLICT (process_name, lane) DO UPDATE SET rows = h.rows + EXCLUDED.rows
    RETURNING 1
)