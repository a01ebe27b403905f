-- Nothing after $8, $9 is handed over from now on ($8 NULL: the barrier is taken away). The epoch
-- grows, so that a batch in hand that reaches beyond is refused. $1 to $7 as in pause_lane.sql
WITH before AS (
    SELECT * FROM seriatim.cursor AS c
    WHERE c.process_name = $1 AND c.lane = $2::integer AND c.epoch = $3::bigint
      AND c.position_at IS NOT DISTINCT FROM $4::timestamptz
      AND c.position_id IS NOT DISTINCT FROM $5::text
), changed AS (
    UPDATE seriatim.cursor AS c
    SET barrier_at = $8::timestamptz, barrier_id = $9::text, epoch = c.epoch + 1
    FROM before AS b
    WHERE c.process_name = b.process_name AND c.lane = b.lane
), journalled AS (
    INSERT INTO seriatim.journal
        (process_name, lane, act, who, why, epoch, position_at, position_id, row_id)
    SELECT process_name, lane, CASE WHEN $8 IS NULL THEN 'barrier removed' ELSE 'barrier' END,
           coalesce($6::text, session_user::text), $7::text, epoch, position_at, position_id, $9::text
    FROM before
)
SELECT pg_notify('seriatim_control', process_name) FROM before
