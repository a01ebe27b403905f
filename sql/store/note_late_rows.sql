-- Rows delivered or set aside behind the cursor ($3 their times, $4 their ids) are counted in the
-- bucket they belong in; if that is gone, below the horizon, its range is a bucket again. Answers those that belong in a
-- closed one; the others belong to the open one.
WITH late AS (
    SELECT u.at, u.id FROM unnest($3::timestamptz[], $4::text[]) AS u (at, id)
), since AS (  -- a lane that was gone for a time counts what it had before no more
    SELECT ledger_start FROM seriatim.cursor WHERE process_name = $1 AND lane = $2::integer
), placed AS (
    SELECT b.number, late.at, late.id
    FROM late
    CROSS JOIN since
    CROSS JOIN LATERAL (
        SELECT l.number, l.from_at, l.from_id
        FROM seriatim.ledger AS l
        WHERE l.process_name = $1 AND l.lane = $2::integer AND l.number > since.ledger_start
          AND ({by_id} OR l.to_at >= late.at)
          AND ({place:l.to_at,l.to_id}) >= ({place:late.at,late.id})
        ORDER BY CASE WHEN NOT {by_id} THEN l.to_at END, l.number
        LIMIT 1
    ) AS b
    WHERE b.from_id IS NULL OR ({place:b.from_at,b.from_id}) < ({place:late.at,late.id})
), sums AS (
    SELECT number, array_agg(id) AS ids, count(*) AS rows, max(at) AS newest_at,
           bit_xor(hashtextextended(id, 0)) AS hash
    FROM placed GROUP BY number
), noted AS (
    UPDATE seriatim.ledger AS l
    SET rows = l.rows + s.rows, hash = l.hash # s.hash,
        ids = CASE WHEN l.ids IS NOT NULL THEN l.ids || s.ids END,  -- a sealed one stays so
        newest_at = CASE WHEN l.newest_at IS NOT NULL THEN greatest(l.newest_at, s.newest_at) END
    FROM sums AS s
    WHERE l.process_name = $1 AND l.lane = $2::integer AND l.number = s.number
), below AS (
    SELECT h.number, h.at, h.id, array_agg(late.id) AS ids, count(*) AS rows, max(late.at) AS newest_at
    FROM late
    JOIN seriatim.horizon AS h ON h.process_name = $1 AND h.lane = $2::integer AND h.id IS NOT NULL
                              AND ({place:late.at,late.id}) <= ({place:h.at,h.id})
    GROUP BY h.number, h.at, h.id
), reopened AS (
    INSERT INTO seriatim.ledger (process_name, lane, lanes, number, to_at, to_id, rows, ids, newest_at)
    SELECT c.process_name, c.lane, c.lanes, b.number, b.at, b.id, b.rows, b.ids, b.newest_at
    FROM below AS b JOIN seriatim.cursor AS c ON c.process_name = $1 AND c.lane = $2::integer
), no_horizon AS (
    UPDATE seriatim.horizon AS h SET at = NULL, id = NULL
    FROM below WHERE h.process_name = $1 AND h.lane = $2::integer
)
SELECT id FROM placed UNION ALL SELECT unnest(ids) FROM below
