-- Bucket $3 of lane $2, which has $4 rows, begins after $5, $6 from now on. The rows up to there leave it: $7 their
-- ids  $8 … as ranges  $9 their number  $10 their hash. Answers how many of the bucket's rows they were.
WITH bucket AS (
    SELECT process_name, lane, number, rows,
           CASE WHEN ids IS NOT NULL THEN ARRAY(SELECT id FROM unnest(ids) AS id WHERE id <> ALL ($7::text[])) END AS ids,
           coalesce(ranges, '{}') - $8::int8multirange AS ranges
    FROM seriatim.ledger
    WHERE process_name = $1 AND lane = $2::integer AND number = $3::bigint
      AND rows + pruned + coalesce(gone, 0) = $4::bigint
    FOR UPDATE
)
UPDATE seriatim.ledger AS l
SET from_at = $5::timestamptz, from_id = $6, ids = b.ids, ranges = nullif(b.ranges, '{}'), pruned = 0,
    rows = CASE WHEN b.ids IS NULL THEN b.rows - $9::bigint ELSE seriatim.ledger_rows(b.ids, b.ranges) END,
    hash = CASE WHEN b.ids IS NULL THEN l.hash # $10::bigint END
FROM bucket AS b
WHERE l.process_name = b.process_name AND l.lane = b.lane AND l.number = b.number
RETURNING b.rows - l.rows AS rows
