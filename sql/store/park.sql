-- A failed row is set aside, in the transaction that settled it and so holds the cursor's row.
-- A row that is parked already stays so, and the rows of its key wait with it.
-- Answers whether it holds its key, as it did when it was parked first; and what it, as the first of its key, was before.
-- $1 process  $2 lane  $3, $4 the position before  $5 row  $6 its time  $7 key  $8 holds its key  $9 attempts
-- $10 what the receiver said  $11 held for so many ms, and then tried again; NULL: parked
WITH parked AS (
    INSERT INTO seriatim.aside AS a
        (process_name, lane, row_id, position_at, key, state, late, holds_key, head, attempts, detail, parked_at,
         retry_at)
    VALUES ($1, $2::integer, $5, $6::timestamptz, $7, 'parked', true, $8::boolean, true, $9::integer, $10,
            clock_timestamp(), clock_timestamp() + $11::bigint * interval '1 ms')
    ON CONFLICT (process_name, row_id) DO UPDATE
    SET state = 'parked', begun = false, late = true, head = true, due_at = NULL,
        position_at = EXCLUDED.position_at,
        key = CASE WHEN a.parked_at IS NULL THEN EXCLUDED.key ELSE a.key END,
        holds_key = CASE WHEN a.parked_at IS NULL THEN EXCLUDED.holds_key ELSE a.holds_key END,
        attempts = EXCLUDED.attempts + CASE WHEN a.retry_at IS NULL AND EXCLUDED.retry_at IS NOT NULL THEN 0 ELSE a.attempts END,
        detail = EXCLUDED.detail,
        parked_at = coalesce(a.parked_at, EXCLUDED.parked_at), retry_at = EXCLUDED.retry_at
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
    SELECT c.process_name, c.lane, 'park', coalesce(c.holder, '?'), $10, c.epoch, $3::timestamptz, $4, $5,
           jsonb_build_object('key', left($7, 200), 'holds_key', $8::boolean, 'attempts', $9::integer,
                              'retry_in_ms', $11::bigint,
                              'again', EXISTS (SELECT FROM seriatim.aside AS a
                                               WHERE a.process_name = $1 AND a.row_id = $5 AND a.parked_at IS NOT NULL))
    FROM seriatim.cursor AS c
    WHERE c.process_name = $1 AND c.lane = $2::integer
      -- A held key is journalled once, not at each attempt.
      AND ($11::bigint IS NULL OR NOT EXISTS (SELECT FROM seriatim.aside AS a
                                              WHERE a.process_name = $1 AND a.row_id = $5 AND a.retry_at IS NOT NULL))
)
SELECT p.holds_key::text AS holds_key, p.key,
       CASE WHEN a.head THEN CASE WHEN a.retry_at IS NULL THEN 'parked' ELSE 'held' END END AS before
FROM parked AS p
LEFT JOIN seriatim.aside AS a ON a.process_name = $1 AND a.row_id = p.row_id  -- as it was
