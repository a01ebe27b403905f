-- Rows delivered or set aside behind the cursor ($3 their times, $4 their ids) are counted in the
-- bucket they stand in. Answers those that stood in a closed one; the others belong to the open one.
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
          AND l.to_at >= late.at
          AND (l.to_at, l.to_id::{id_type}) >= (late.at, late.id::{id_type})
        ORDER BY l.to_at, l.number
        LIMIT 1
    ) AS b
    WHERE b.from_at IS NULL OR (b.from_at, b.from_id::{id_type}) < (late.at, late.id::{id_type})
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
)
SELECT id FROM placed
