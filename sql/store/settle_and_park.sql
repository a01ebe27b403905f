-- settle.sql, and a failed row is set aside. The cursor moves onto it too, unless it stands behind the cursor.
-- A row that is parked already stays so, and the rows of its key wait with it.
-- Answers whether it holds its key, as it did when it was parked first.
-- $23 row  $24 its time  $25 key  $26 holds its key  $27 attempts  $28 what the receiver said
WITH moved AS (
    {settle}
), parked AS (
    INSERT INTO seriatim.aside AS a
        (process_name, lane, row_id, position_at, key, state, late, holds_key, head, attempts, detail, parked_at)
    SELECT m.process_name, m.lane, $23, $24::timestamptz, $25, 'parked', true, $26::boolean, true, $27::integer, $28,
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
    SELECT m.process_name, m.lane, 'park', coalesce(m.holder, '?'), $28, m.epoch, $4::timestamptz, $5, $23,
           jsonb_build_object('key', left($25, 200), 'holds_key', $26::boolean, 'attempts', $27::integer,
                              'again', EXISTS (SELECT FROM seriatim.aside AS a
                                               WHERE a.process_name = $1 AND a.row_id = $23 AND a.parked_at IS NOT NULL))
    FROM moved AS m
)
SELECT p.holds_key FROM moved AS m, parked AS p
