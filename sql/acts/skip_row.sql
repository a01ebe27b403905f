-- Set one row aside: the cursor moves onto it as if it were delivered. The epoch grows, so that
-- whatever a holder was about to do with the row is refused. A paused lane stays paused.
-- A late row is set aside behind the cursor, which stays where it is. Either is accounted for in the
-- ledger, here in the open bucket where it stands there.
-- $1 to $7 as in pause_lane.sql  $8, $9 the cursor's new position  $10 the row  $11 ids for the open bucket
-- $12 the row's time
WITH before AS (
    SELECT * FROM seriatim.cursor AS c
    WHERE c.process_name = $1 AND c.lane = $2::integer AND c.epoch = $3::bigint
      AND c.position_at IS NOT DISTINCT FROM $4::timestamptz
      AND c.position_id IS NOT DISTINCT FROM $5::text
), changed AS (
    UPDATE seriatim.cursor AS c
    SET position_at = $8::timestamptz, position_id = $9::text,
        sequence = c.sequence + 1, epoch = c.epoch + 1, set_aside = c.set_aside + 1,
        bucket_ids = c.bucket_ids || $11::text[],
        bucket_newest_at = CASE WHEN $11::text[] = '{}' THEN c.bucket_newest_at
                                WHEN c.bucket_newest_at IS NOT NULL OR (c.bucket_ids = '{}' AND c.bucket_ranges = '{}')
                                THEN greatest(c.bucket_newest_at, $12::timestamptz) END,
        state = CASE c.state WHEN 'paused' THEN 'paused' ELSE 'running' END,
        detail = CASE c.state WHEN 'paused' THEN c.detail END,
        reason = NULL, failed_id = NULL, attempts = 0, crashes = 0, next_attempt_at = NULL
    FROM before AS b
    WHERE c.process_name = b.process_name AND c.lane = b.lane
), gone AS (
    DELETE FROM seriatim.aside AS a USING before AS b
    WHERE a.process_name = b.process_name AND a.parked_at IS NULL
      AND (a.row_id = $10::text OR (a.lane = b.lane AND a.state = 'late'))
), journalled AS (
    INSERT INTO seriatim.journal
        (process_name, lane, act, who, why, epoch, position_at, position_id, row_id, detail)
    SELECT process_name, lane, 'skip', coalesce($6::text, session_user::text), $7::text, epoch, position_at, position_id,
           $10::text,
           jsonb_build_object('state', state, 'reason', reason, 'detail', detail,
                              'attempts', attempts, 'crashes', crashes)
    FROM before
)
SELECT sequence + 1 AS sequence, pg_notify('seriatim_control', process_name) FROM before
