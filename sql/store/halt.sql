-- A lane halts. A row that halts it as late is aside until `retry`, `skip` or a rewind.
-- What halts it is the UPDATE of settle.sql.
WITH halted AS (
    {halt}
), late AS (
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
SELECT CASE count(*) WHEN 0 THEN {refused} ELSE 'ours' END AS answer FROM halted
