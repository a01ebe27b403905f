-- $1 process  $2 lane  $3 epoch  $4, $5 position  $6 who  $7 why
WITH before AS (
    SELECT * FROM seriatim.cursor AS c
    WHERE c.process_name = $1 AND c.lane = $2::integer AND c.epoch = $3::bigint
      AND c.position_at IS NOT DISTINCT FROM $4::timestamptz
      AND c.position_id IS NOT DISTINCT FROM $5::text
      AND c.state IN ('running', 'retrying')
), changed AS (
    UPDATE seriatim.cursor AS c
    SET state = 'paused', next_attempt_at = NULL, reason = NULL,
        detail = concat_ws(': ', 'paused by ' || coalesce($6::text, session_user::text), $7::text)
    FROM before AS b
    WHERE c.process_name = b.process_name AND c.lane = b.lane
), journalled AS (
    INSERT INTO seriatim.journal
        (process_name, lane, act, who, why, epoch, position_at, position_id, row_id, detail)
    SELECT process_name, lane, 'pause', coalesce($6::text, session_user::text), $7::text, epoch, position_at, position_id,
           failed_id,
           jsonb_build_object('state', state, 'reason', reason, 'detail', detail,
                              'attempts', attempts, 'crashes', crashes)
    FROM before
)
SELECT pg_notify('seriatim_control', process_name) FROM before
