-- A commit of our own. Waited for, it makes the commits of all rows seen so far durable, those of
-- synchronous_commit = off producers included, because WAL is flushed in order; a role may have switched waiting
-- off, so it is switched on for this transaction. Where they are known to be durable it need not be: a crash
-- of the server then takes back that an attempt was counted, no more. `known` is asked in WHERE too, not in
-- RETURNING alone: before this UPDATE writes.
-- $5, $6 late_rows = 'deliver': the batch in its order, and how far late rows were looked for; NULL: as
-- they are.  $7 attempts to count: 0 where the last one counted was never made
-- $8, $9 late_rows = 'deliver': sequence and plan when the batch was read: a statement of a session given up
-- may arrive late, with a plan of rows that went out since
-- $10 rows the first call may take  $11 a parked row goes out again: handed_to when it was read
-- $12 when the process began, as in lock_cursor.sql
WITH known (durable) AS (
    {known}
)
UPDATE seriatim.cursor
SET attempts = attempts + $7::integer, state = 'running', next_attempt_at = NULL,
    reason = NULL, detail = NULL, failed_id = NULL,
    planned_ids = coalesce($5::text[], planned_ids),
    handed_to = greatest(handed_to, sequence + $10::bigint),
    looked_at = coalesce($6::timestamptz, looked_at),
    lease_until = clock_timestamp() + $4::bigint * interval '1 millisecond'
WHERE process_name = $1 AND lane = $2::integer AND epoch = $3::bigint
  AND created_at = $12::timestamptz
  AND state IN ('running', 'retrying')
  AND ($8::bigint IS NULL OR sequence = $8::bigint)
  AND ($9::text[] IS NULL OR planned_ids = $9::text[])
  AND ($11::bigint IS NULL OR handed_to = $11::bigint)
  AND (SELECT durable FROM known) IS NOT NULL
RETURNING set_config('synchronous_commit',
                     CASE WHEN (SELECT durable FROM known) THEN 'off' ELSE 'on' END, true)
