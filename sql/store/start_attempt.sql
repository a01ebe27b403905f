-- A commit of our own. Waited for, it makes the commits of all rows seen so far durable, those of
-- synchronous_commit = off producers included, because WAL is flushed in order; a role may have switched waiting
-- off, so it is switched on for this transaction. Where they are known to be durable it need not be: a crash
-- of the server then takes back that an attempt was counted, no more. `known` is asked in WHERE too, not in
-- RETURNING alone: before this UPDATE writes.
-- Announces a call, which the lease covers: $4 in ms. Nothing if a person asks for a turn.
-- $5 attempts to count: 0 if the last one counted was never made  $6 rows the call may take
-- $7 when the process began, as in lock_cursor.sql
-- $9, $10 the position the rows were read after: one that was changed by hand is noticed before the call
-- $8 how far late rows were searched for; -infinity: not known, so at least behind the cursor as it is; NULL: no search
WITH known (durable) AS (
    {known}
)
UPDATE seriatim.cursor
SET attempts = attempts + $5::integer, state = 'running', next_attempt_at = NULL,
    reason = NULL, detail = NULL, failed_id = NULL,
    handed_to = greatest(handed_to, sequence + $6::bigint),
    looked_at = CASE WHEN $8::timestamptz IS NULL THEN looked_at
                ELSE least(coalesce(nullif($8::timestamptz, '-infinity'), looked_at, position_at), position_at) END,
    call_epoch = epoch, calling_since = clock_timestamp(), updated_at = clock_timestamp(),  -- spares the trigger
    lease_ms = $4::bigint, lease_until = clock_timestamp() + $4::bigint * interval '1 millisecond'
WHERE process_name = $1 AND lane = $2::integer AND epoch = $3::bigint
  AND created_at = $7::timestamptz
  AND position_at IS NOT DISTINCT FROM $9::timestamptz
  AND position_id IS NOT DISTINCT FROM $10::text
  AND state IN ('running', 'retrying')
  AND (hold_until IS NULL OR hold_until <= clock_timestamp())
  AND (SELECT durable FROM known) IS NOT NULL
RETURNING set_config('synchronous_commit',
                     CASE WHEN (SELECT durable FROM known) THEN 'off' ELSE 'on' END, true)
