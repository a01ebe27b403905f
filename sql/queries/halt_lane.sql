WITH halted AS (
    UPDATE seriatim.cursor
    SET state = 'halted', failed_id = $4, detail = $5, reason = $6, next_attempt_at = NULL
    WHERE process_name = $1 AND lane = $2::integer AND epoch = $3::bigint
      AND state IN ('running', 'retrying')
    RETURNING *
), journalled AS (
    INSERT INTO seriatim.journal
        (process_name, lane, act, who, why, epoch, position_at, position_id, row_id)
    SELECT process_name, lane, 'halt', coalesce(holder, '?'), reason || ': ' || detail,
           epoch, position_at, position_id, failed_id
    FROM halted
)
SELECT 1 FROM halted
