-- The same row once more, at once; attempts go on counting. Parameters as in pause_lane.sql, dead
-- holders as in resume_lane.sql.
WITH before AS (
    SELECT * FROM seriatim.cursor AS c
    WHERE c.process_name = $1 AND c.lane = $2::integer AND c.epoch = $3::bigint
      AND c.position_at IS NOT DISTINCT FROM $4::timestamptz
      AND c.position_id IS NOT DISTINCT FROM $5::text
      AND c.state IN ('halted', 'retrying')
), changed AS (
    UPDATE seriatim.cursor AS c
    SET state = 'running', crashes = 0, next_attempt_at = NULL,
        reason = NULL, detail = NULL, failed_id = NULL,
        holder = (SELECT l.holder FROM seriatim.lanes AS l
                  WHERE l.process_name = c.process_name AND l.lane = c.lane)
    FROM before AS b
    WHERE c.process_name = b.process_name AND c.lane = b.lane
), not_late AS (  -- the audit looks for it once more
    DELETE FROM seriatim.aside AS a USING before AS b
    WHERE a.process_name = b.process_name AND a.lane = b.lane AND a.state = 'late'
), journalled AS (
    INSERT INTO seriatim.journal
        (process_name, lane, act, who, why, epoch, position_at, position_id, row_id, detail)
    SELECT process_name, lane, 'retry', coalesce($6::text, session_user::text), $7::text, epoch, position_at, position_id,
           failed_id,
           jsonb_build_object('state', state, 'reason', reason, 'detail', detail,
                              'attempts', attempts, 'crashes', crashes)
    FROM before
)
SELECT pg_notify('seriatim_control', process_name) FROM before
