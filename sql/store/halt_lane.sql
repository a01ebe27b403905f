-- $1 process  $2 lane  $3 epoch  $4 row  $5 what was said  $6 code  $7 when the process began: a row that was
-- made anew is not ours to halt, whatever its epoch
WITH halted AS (
    UPDATE seriatim.cursor
    SET state = 'halted', failed_id = $4, detail = $5, reason = $6, next_attempt_at = NULL
    WHERE process_name = $1 AND lane = $2::integer AND epoch = $3::bigint
      AND state IN ('running', 'retrying')
      AND ($7::timestamptz IS NULL OR created_at = $7::timestamptz)
    RETURNING *
), late AS (  -- until `retry`, `skip` or a rewind
    INSERT INTO seriatim.aside (process_name, row_id, lane, state)
    SELECT process_name, failed_id, lane, 'late' FROM halted WHERE reason = 'LATE_ROW'
    ON CONFLICT (process_name, row_id) DO NOTHING
), journalled AS (
    INSERT INTO seriatim.journal
        (process_name, lane, act, who, why, epoch, position_at, position_id, row_id)
    SELECT process_name, lane, 'halt', coalesce(holder, '?'), reason || ': ' || detail,
           epoch, position_at, position_id, failed_id
    FROM halted
)
SELECT 1 FROM halted
