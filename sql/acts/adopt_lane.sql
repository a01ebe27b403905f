-- Keep the cursor for what is seen now. A lane that halted because it was another goes on.
-- $1 to $7 as in pause_lane.sql  $8 the identity  $9 how it differs, in words
WITH before AS (
    SELECT *, state = 'halted' AND reason IN ('SOURCE_CHANGED', 'CONFIG_CHANGED') AS stood_for_it
    FROM seriatim.cursor AS c
    WHERE c.process_name = $1 AND c.lane = $2::integer AND c.epoch = $3::bigint
      AND c.position_at IS NOT DISTINCT FROM $4::timestamptz
      AND c.position_id IS NOT DISTINCT FROM $5::text
), changed AS (
    UPDATE seriatim.cursor AS c
    SET identity = coalesce(c.identity, '{}') || $8::jsonb,
        state = CASE WHEN b.stood_for_it THEN 'running' ELSE c.state END,
        reason = CASE WHEN NOT b.stood_for_it THEN c.reason END,
        detail = CASE WHEN NOT b.stood_for_it THEN c.detail END,
        failed_id = CASE WHEN NOT b.stood_for_it THEN c.failed_id END,
        -- A holder found dead did not die of a row, as in resume_lane.sql.
        holder = CASE WHEN b.stood_for_it
                      THEN (SELECT l.holder FROM seriatim.lanes AS l
                            WHERE l.process_name = c.process_name AND l.lane = c.lane)
                      ELSE c.holder END
    FROM before AS b
    WHERE c.process_name = b.process_name AND c.lane = b.lane
), journalled AS (
    INSERT INTO seriatim.journal
        (process_name, lane, act, who, why, epoch, position_at, position_id, detail)
    SELECT process_name, lane, 'adopt', coalesce($6::text, session_user::text), $7::text, epoch, position_at, position_id,
           jsonb_build_object('noted', identity, 'adopted', $8::jsonb, 'change', $9::text,
                              'state', state, 'reason', reason)
    FROM before
)
SELECT stood_for_it, pg_notify('seriatim_control', process_name) FROM before
