-- Set a failed row aside. The cursor moves onto it, unless it stands behind the cursor ($8, $9: where it
-- then is). A row that is parked already stays so, and the rows of its key wait with it.
-- Answers whether it holds its key, as it did when it was parked first.
-- $1 process  $2 lane  $3 epoch  $4 row  $5 its time  $6 key  $7 holds its key  $8, $9 the new position
-- $10 attempts  $11 what the receiver said  $12 ids for the open bucket
WITH before AS (
    SELECT c.*, a.parked_at IS NOT NULL AS again
    FROM seriatim.cursor AS c
    LEFT JOIN seriatim.aside AS a ON a.process_name = c.process_name AND a.row_id = $4
    WHERE c.process_name = $1 AND c.lane = $2::integer AND c.epoch = $3::bigint
      AND c.state IN ('running', 'retrying')
), moved AS (
    UPDATE seriatim.cursor AS c
    SET position_at = $8::timestamptz, position_id = $9::text, sequence = c.sequence + 1,
        set_aside = c.set_aside + 1,
        redriven = c.redriven + (b.again AND $12::text[] = '{}')::integer,
        bucket_ids = c.bucket_ids || $12::text[],
        bucket_newest_at = CASE WHEN $12::text[] = '{}' THEN c.bucket_newest_at
                                WHEN c.bucket_newest_at IS NOT NULL OR (c.bucket_ids = '{}' AND c.bucket_ranges = '{}')
                                THEN greatest(c.bucket_newest_at, $5::timestamptz) END,
        state = 'running', attempts = 0, crashes = 0,
        reason = NULL, detail = NULL, failed_id = NULL, next_attempt_at = NULL
    FROM before AS b
    WHERE c.process_name = b.process_name AND c.lane = b.lane
    RETURNING c.*
), parked AS (
    INSERT INTO seriatim.aside AS a
        (process_name, lane, row_id, position_at, key, state, late, holds_key, head, attempts, detail, parked_at)
    SELECT m.process_name, m.lane, $4, $5::timestamptz, $6, 'parked', true, $7::boolean, true, $10::integer, $11,
           clock_timestamp()
    FROM moved AS m
    ON CONFLICT (process_name, row_id) DO UPDATE
    SET state = 'parked', begun = false, late = true, head = true, due_at = NULL,
        position_at = EXCLUDED.position_at,
        key = CASE WHEN a.parked_at IS NULL THEN EXCLUDED.key ELSE a.key END,
        holds_key = CASE WHEN a.parked_at IS NULL THEN EXCLUDED.holds_key ELSE a.holds_key END,
        attempts = a.attempts + EXCLUDED.attempts, detail = EXCLUDED.detail,
        parked_at = coalesce(a.parked_at, EXCLUDED.parked_at)
    RETURNING row_id, key_hash, key, holds_key
), queue AS (
    UPDATE seriatim.aside AS q
    SET state = 'queued', begun = false, due_at = NULL
    FROM parked AS p
    WHERE q.process_name = $1 AND q.row_id <> p.row_id AND q.state = 'due' AND q.holds_key AND p.holds_key
      AND q.key_hash = p.key_hash AND q.key IS NOT DISTINCT FROM p.key
), journalled AS (
    INSERT INTO seriatim.journal
        (process_name, lane, act, who, why, epoch, position_at, position_id, row_id, detail)
    SELECT b.process_name, b.lane, 'park', coalesce(b.holder, '?'), $11, b.epoch, b.position_at,
           b.position_id, $4,
           jsonb_build_object('key', left($6, 200), 'holds_key', $7::boolean, 'attempts', $10::integer,
                              'again', b.again)
    FROM before AS b
)
SELECT p.holds_key FROM moved AS m, parked AS p
