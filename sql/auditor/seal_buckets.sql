-- Old buckets lose their ids and ranges: the oldest that still have them, of one hour, become one with the
-- sealed one before them while that is of the same hour and not too large. Count and hash remain.
-- $3 ids are kept for so many ms, and for no more rows than $4  $5 not from this moment on (NULL: no
-- bound)  $6 buckets at once, of about $8 rows together: the hash of ranges is computed here  $7 rows of a sealed bucket
-- $9 the last bucket that was checked: a row that is late in a later one must be found before
WITH sealable AS (
    SELECT l.number, l.lanes, l.rows, date_trunc('hour', l.closed_at) AS hour
    FROM seriatim.ledger AS l
    JOIN seriatim.cursor AS c ON c.process_name = l.process_name AND c.lane = l.lane
    WHERE l.process_name = $1 AND l.lane = $2::integer AND l.ids IS NOT NULL
      AND (l.closed_at < clock_timestamp() - $3::bigint * interval '1 millisecond'
           OR l.number <= c.sequence - $4::bigint)
      AND l.number <= $9::bigint
      AND ($5::timestamptz IS NULL OR l.to_at < $5::timestamptz)
    ORDER BY l.number
    LIMIT $6::bigint
), counted AS (
    SELECT *, sum(rows) OVER (ORDER BY number) - rows AS rows_before FROM sealable
), oldest AS (
    SELECT * FROM sealable ORDER BY number LIMIT 1
), together AS (
    SELECT s.number, s.rows FROM counted AS s JOIN oldest AS o ON s.hour = o.hour AND s.lanes = o.lanes
    WHERE s.rows_before < $8::bigint
), neighbour AS (
    SELECT p.number
    FROM oldest AS o
    CROSS JOIN LATERAL (
        SELECT l.number, l.lanes, l.rows, date_trunc('hour', l.closed_at) AS hour
        FROM seriatim.ledger AS l
        WHERE l.process_name = $1 AND l.lane = $2::integer AND l.number < o.number
        ORDER BY l.number DESC LIMIT 1
    ) AS p
    WHERE p.hour = o.hour AND p.lanes = o.lanes
      AND p.rows + (SELECT sum(rows) FROM together) <= $7::bigint
), parts AS (
    SELECT l.*
    FROM seriatim.ledger AS l
    WHERE l.process_name = $1 AND l.lane = $2::integer
      AND l.number IN (SELECT number FROM together UNION ALL SELECT number FROM neighbour)
    FOR UPDATE  -- as a prune in flight leaves them
), removed AS (
    DELETE FROM seriatim.ledger AS l
    USING parts AS p
    WHERE l.process_name = p.process_name AND l.lane = p.lane AND l.number = p.number
      AND p.number < (SELECT max(number) FROM parts)
), sealed AS (
    UPDATE seriatim.ledger AS l
    SET ids = NULL,
        ranges = NULL,
        newest_at = (SELECT CASE WHEN bool_and(newest_at IS NOT NULL OR rows = 0) THEN max(newest_at) END FROM parts),
        rows = (SELECT sum(rows) FROM parts),
        hash = (SELECT bit_xor(coalesce(hash, seriatim.ledger_hash(ids, ranges))) FROM parts),
        from_at = (SELECT from_at FROM parts ORDER BY number LIMIT 1),
        from_id = (SELECT from_id FROM parts ORDER BY number LIMIT 1)
    WHERE l.process_name = $1 AND l.lane = $2::integer
      AND l.number = (SELECT max(number) FROM parts)
)
SELECT count(*) FROM parts
