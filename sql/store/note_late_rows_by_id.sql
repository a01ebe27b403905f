-- As note_late_rows_by_created_at.sql, in the order of an identity column; $3 decides nothing there.
WITH late AS (
    SELECT u.at, u.id FROM unnest($3::timestamptz[], $4::text[]) AS u (at, id)
), since AS (  -- a lane that was gone for a time counts what it had before no more
    SELECT ledger_start FROM seriatim.cursor WHERE process_name = $1 AND lane = $2::integer
), placed AS (
    SELECT b.number, late.at, late.id
    FROM late
    CROSS JOIN since
    CROSS JOIN LATERAL (
        SELECT l.number, l.from_id
        FROM seriatim.ledger AS l
        WHERE l.process_name = $1 AND l.lane = $2::integer AND l.number > since.ledger_start
          AND l.to_id::bigint >= late.id::bigint
        ORDER BY l.number
        LIMIT 1
    ) AS b
    WHERE b.from_id IS NULL OR b.from_id::bigint < late.id::bigint
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
