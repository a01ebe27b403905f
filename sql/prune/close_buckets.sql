-- The open buckets of process $1 that may hold rows older than $2 are closed: a lane may get no more rows
-- for long, and pruned rows are noted in closed ones. Not of a lane that is delivering at this moment.
WITH lane AS (
    SELECT * FROM seriatim.cursor AS c
    WHERE c.process_name = $1 AND (c.bucket_ids <> '{}' OR c.bucket_ranges <> '{}')
      AND (c.bucket_at IS NULL OR c.bucket_at < $2::timestamptz)
    FOR UPDATE SKIP LOCKED
), closed AS (
    INSERT INTO seriatim.ledger
        (process_name, lane, lanes, number, from_at, from_id, to_at, to_id, rows, ids, ranges, newest_at)
    SELECT process_name, lane, lanes, sequence, bucket_at, bucket_id, position_at, position_id,
           seriatim.ledger_rows(bucket_ids, bucket_ranges), bucket_ids, nullif(bucket_ranges, '{}'), bucket_newest_at
    FROM lane
    ON CONFLICT DO NOTHING
    RETURNING process_name, lane
)
UPDATE seriatim.cursor AS c
SET bucket_at = c.position_at, bucket_id = c.position_id, bucket_ids = '{}', bucket_ranges = '{}',
    bucket_newest_at = NULL
FROM closed AS d
WHERE c.process_name = d.process_name AND c.lane = d.lane
