-- Move a lane's cursor to any place. The epoch grows, so that whatever a holder was about to do is
-- refused. Forwards the open bucket is closed (jump_rows_*.sql noted those after it), backwards the
-- ledger forgets what will be delivered again. A paused lane stays paused.
-- $1 to $7 as in pause_lane.sql  $8, $9 the new position  $10 its sequence  $11 rows jumped or gone back
-- over  $12 forwards?  $13 the first bucket gone back over
-- $14, $15 backwards: where the open bucket begins  $16, $17, $18 … its ids, ranges and newest created_at
WITH before AS (
    SELECT * FROM seriatim.cursor AS c
    WHERE c.process_name = $1 AND c.lane = $2::integer AND c.epoch = $3::bigint
      AND c.position_at IS NOT DISTINCT FROM $4::timestamptz
      AND c.position_id IS NOT DISTINCT FROM $5::text
), closed AS (
    INSERT INTO seriatim.ledger
        (process_name, lane, lanes, number, from_at, from_id, to_at, to_id, rows, ids, ranges, newest_at)
    SELECT process_name, lane, lanes, sequence, bucket_at, bucket_id, position_at, position_id,
           seriatim.ledger_rows(bucket_ids, bucket_ranges), bucket_ids, nullif(bucket_ranges, '{}'), bucket_newest_at
    FROM before WHERE $12::boolean AND (bucket_ids <> '{}' OR bucket_ranges <> '{}')
), undone AS (
    DELETE FROM seriatim.ledger AS l
    USING before AS b
    WHERE l.process_name = b.process_name AND l.lane = b.lane
      AND NOT $12::boolean AND l.number >= $13::bigint
), kept AS (
    SELECT coalesce(sum(l.rows), 0) + seriatim.ledger_rows($16::text[], $17::int8multirange)
           + coalesce((SELECT h.rows FROM seriatim.horizon AS h JOIN before AS b
                       ON h.process_name = b.process_name AND h.lane = b.lane), 0) AS rows
    FROM seriatim.ledger AS l JOIN before AS b ON l.process_name = b.process_name AND l.lane = b.lane
    WHERE $13::bigint IS NULL OR l.number < $13::bigint
), changed AS (
    UPDATE seriatim.cursor AS c
    SET position_at = $8::timestamptz, position_id = $9::text, sequence = $10::bigint,
        epoch = c.epoch + 1,
        set_aside = c.set_aside + CASE WHEN $12::boolean THEN $11::bigint ELSE 0 END,
        bucket_at = CASE WHEN $12::boolean THEN $8::timestamptz ELSE $14::timestamptz END,
        bucket_id = CASE WHEN $12::boolean THEN $9::text ELSE $15::text END,
        bucket_ids = CASE WHEN $12::boolean THEN '{}' ELSE $16::text[] END,
        bucket_ranges = CASE WHEN $12::boolean THEN '{}' ELSE $17::int8multirange END,
        bucket_newest_at = CASE WHEN NOT $12::boolean THEN $18::timestamptz END,
        ledger_start = CASE WHEN $12::boolean THEN c.ledger_start
                            ELSE greatest(0, $10::bigint - c.redriven - (SELECT rows FROM kept)) END,
        looked_at = $8::timestamptz,
        state = CASE c.state WHEN 'paused' THEN 'paused' ELSE 'running' END,
        detail = CASE c.state WHEN 'paused' THEN c.detail END,
        reason = NULL, failed_id = NULL, attempts = 0, crashes = 0, next_attempt_at = NULL
    FROM before AS b
    WHERE c.process_name = b.process_name AND c.lane = b.lane
), not_begun AS (  -- a batch in flight, and what halted the lane as late; late rows of the batch still go out first
    DELETE FROM seriatim.aside AS a USING before AS b
    WHERE a.process_name = b.process_name AND a.lane = b.lane AND a.parked_at IS NULL AND a.late IS NOT TRUE
), journalled AS (
    INSERT INTO seriatim.journal
        (process_name, lane, act, who, why, epoch, position_at, position_id, row_id, detail)
    SELECT process_name, lane, 'rewind', coalesce($6::text, session_user::text), $7::text, epoch,
           position_at, position_id, $9::text,
           jsonb_build_object('forwards', $12::boolean, 'rows', $11::bigint, 'to_at', $8::timestamptz,
                              'to_id', $9::text, 'sequence', sequence, 'to_sequence', $10::bigint,
                              'state', state, 'reason', reason)
    FROM before
)
SELECT pg_notify('seriatim_control', process_name) FROM before
