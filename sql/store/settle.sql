-- What became of a call, in one UPDATE: the cursor moves over what is done, and the row says what comes after it.
-- Announces the next call, unless a person asks for a turn; then that person is notified.
-- $4, $5: the position we believe in; $6, $7: the new one; $8: rows between; $9: attempts at the next, NULL: as counted
-- already; $10: lease in ms; $11: ids for the open bucket; $12: of the rows, how many are set aside; $13: rows the
-- next call may take; $14: ranges for the open bucket; $15: the newest created_at for it;
-- $16: of the rows, how many were parked and went out again; $17: state; $18: reason of a halt; $19: the row that failed;
-- $20: what was said of it; $21: ms until it is tried again; $22: when the process began, as in lock_cursor.sql;
-- $23: lease in ms with the next call, NULL: none is announced; $24, $25: keep_ahead.sql
UPDATE seriatim.cursor AS c
SET position_at = $6::timestamptz, position_id = $7::text, sequence = c.sequence + $8::bigint,
    set_aside = c.set_aside + $12::bigint, {ahead}
    attempts = CASE WHEN {goes_on} OR $23::bigint IS NULL THEN coalesce($9::integer, c.attempts) ELSE 0 END,
    crashes = CASE WHEN $8::bigint > 0 THEN 0 ELSE c.crashes END,
    state = $17, reason = $18, failed_id = $19, detail = $20,
    next_attempt_at = clock_timestamp() + $21::bigint * interval '1 millisecond',
    -- A full bucket is closed by a trigger. A range counts no row twice, so what comes again is listed.
    bucket_ids = c.bucket_ids || $11::text[]
        || CASE WHEN c.bucket_ranges && $14::int8multirange
                THEN seriatim.ledger_list('{}', c.bucket_ranges * $14::int8multirange) ELSE '{}' END,
    bucket_ranges = c.bucket_ranges + $14::int8multirange,
    -- Set, it spares the trigger, which is needed if the bucket may be full: bounds that are quick to compute decide that.
    updated_at = CASE WHEN cardinality(c.bucket_ids) + cardinality($11::text[])
                           + coalesce(greatest(upper(c.bucket_ranges), upper($14::int8multirange))::float8
                                      - least(lower(c.bucket_ranges), lower($14::int8multirange))::float8, 0) < 1000
                           AND cardinality(c.bucket_ids) + cardinality($11::text[]) < 64
                           AND pg_column_size(c.bucket_ranges) + pg_column_size($14::int8multirange) < 1352
                           AND NOT c.bucket_ranges && $14::int8multirange
                      THEN clock_timestamp() ELSE c.updated_at END,
    bucket_newest_at = CASE WHEN c.bucket_newest_at IS NOT NULL OR (c.bucket_ids = '{}' AND c.bucket_ranges = '{}')
                            THEN greatest(c.bucket_newest_at, $15::timestamptz) END,
    handed_to = greatest(c.handed_to, c.sequence + $8::bigint + CASE WHEN {goes_on} THEN $13::bigint ELSE 0 END),
    redriven = c.redriven + $16::bigint,
    call_epoch = CASE WHEN {goes_on} THEN c.epoch END,
    calling_since = CASE WHEN {goes_on} THEN clock_timestamp() END,
    lease_ms = CASE WHEN {goes_on} THEN $23::bigint ELSE $10::bigint END,
    lease_until = clock_timestamp()
                  + CASE WHEN {goes_on} THEN $23::bigint ELSE $10::bigint END * interval '1 millisecond'
WHERE c.process_name = $1 AND c.lane = $2::integer AND c.epoch = $3::bigint
  AND c.position_at IS NOT DISTINCT FROM $4::timestamptz
  AND c.position_id IS NOT DISTINCT FROM $5::text
  AND c.state IN ('running', 'retrying')
  AND ($22::timestamptz IS NULL OR c.created_at = $22::timestamptz)
RETURNING {answer}
