-- Row $4 cannot be handed over, for $5: it is parked again, and the rows of its key wait with it. Nothing, unless
-- the cursor's row is of epoch $3. For its number see number_unused.sql. If it was held, it waits for a person from
-- now on, so the journal says that it is parked.
WITH held AS (
    SELECT c.* FROM seriatim.cursor AS c
    WHERE c.process_name = $1 AND c.lane = $2::integer AND c.epoch = $3::bigint
    FOR UPDATE
), gone AS (
    SELECT a.key_hash, a.key, a.begun, a.holds_key, a.attempts, a.retry_at
    FROM seriatim.aside AS a JOIN held ON a.process_name = held.process_name
    WHERE a.row_id = $4
), {counted}, row AS (
    UPDATE seriatim.aside AS a
    SET state = 'parked', begun = false, due_at = NULL, retry_at = NULL, detail = $5
    FROM held
    WHERE a.process_name = held.process_name AND a.row_id = $4
    RETURNING a.key_hash, a.key, a.holds_key
), queue AS (
    UPDATE seriatim.aside AS a
    SET state = 'queued', begun = false, due_at = NULL
    FROM row AS r
    WHERE a.process_name = $1 AND a.row_id <> $4 AND a.state = 'due' AND r.holds_key AND a.holds_key
      AND a.key_hash = r.key_hash AND a.key IS NOT DISTINCT FROM r.key
), journalled AS (
    INSERT INTO seriatim.journal
        (process_name, lane, act, who, why, epoch, position_at, position_id, row_id, detail)
    SELECT h.process_name, h.lane, 'park', coalesce(h.holder, '?'), $5, h.epoch, h.position_at, h.position_id, $4,
           jsonb_build_object('key', left(g.key, 200), 'holds_key', g.holds_key, 'attempts', g.attempts, 'again', true)
    FROM gone AS g, held AS h
    WHERE g.retry_at IS NOT NULL
)
SELECT EXISTS (SELECT FROM counted) AS counted FROM held
