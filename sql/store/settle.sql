-- What became of a call, in one UPDATE: the cursor moves over what is done, and the row says what comes after it.
-- What is left of the transaction has no time limit: the rows are delivered, or being delivered (then this is sent
-- ahead, and taken back unless they all are), and giving up on a mark (mark_rows.sql) because a row is locked by
-- others would deliver them again.
-- $4, $5: the position we believe in; $6, $7: the new one; $8: rows between; $9: attempts at the next, NULL: as counted
-- already; $10: lease in ms; $11: ids for the open bucket; $12: of the rows, how many are set aside; $13: rows the
-- next call may take; $14: ranges for the open bucket; $15: the newest created_at for it;
-- $16: of the rows, how many were parked and went out again; $17: state; $18: reason of a halt; $19: the row that failed;
-- $20: what was said of it; $21: ms until it is tried again; $22: when the process began, as in lock_cursor.sql
UPDATE seriatim.cursor AS c
SET position_at = $6::timestamptz, position_id = $7::text, sequence = c.sequence + $8::bigint,
    set_aside = c.set_aside + $12::bigint,
    attempts = coalesce($9::integer, c.attempts), crashes = CASE WHEN $8::bigint > 0 THEN 0 ELSE c.crashes END,
    state = $17, reason = $18, failed_id = $19, detail = $20,
    next_attempt_at = clock_timestamp() + $21::bigint * interval '1 millisecond',
    -- A full bucket is closed by a trigger. A range tells no row twice, so what comes again is listed.
    bucket_ids = c.bucket_ids || $11::text[]
        || CASE WHEN c.bucket_ranges && $14::int8multirange
                THEN seriatim.ledger_list('{}', c.bucket_ranges * $14::int8multirange) ELSE '{}' END,
    bucket_ranges = c.bucket_ranges + $14::int8multirange,
    bucket_newest_at = CASE WHEN c.bucket_newest_at IS NOT NULL OR (c.bucket_ids = '{}' AND c.bucket_ranges = '{}')
                            THEN greatest(c.bucket_newest_at, $15::timestamptz) END,
    handed_to = greatest(c.handed_to, c.sequence + $8::bigint + $13::bigint),
    redriven = c.redriven + $16::bigint,
    lease_until = clock_timestamp() + $10::bigint * interval '1 millisecond'
WHERE c.process_name = $1 AND c.lane = $2::integer AND c.epoch = $3::bigint
  AND c.position_at IS NOT DISTINCT FROM $4::timestamptz
  AND c.position_id IS NOT DISTINCT FROM $5::text
  AND c.state IN ('running', 'retrying')
  AND ($22::timestamptz IS NULL OR c.created_at = $22::timestamptz)
RETURNING {answer}
