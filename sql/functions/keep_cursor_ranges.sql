-- Replaces keep_cursor.sql, which earlier migrations quote. An older program cannot read the ranges of the ledger, nor
-- rows in seriatim.aside: it would report delivered rows as late, or pass over rows. It does not know either that a call
-- may be in flight without a lock, nor that rows after the cursor may be done. So no older program may change a cursor. session_settings.sql says which schema
-- version a program knows. A migration that must keep older programs out raises the number here, there, and in the
-- condition of the trigger (migrations/021_ahead.sql), and includes this file again.
CREATE OR REPLACE FUNCTION seriatim.keep_cursor() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    -- '' is what SET LOCAL leaves behind on a pooler's backend.
    IF (nullif(current_setting('seriatim.knows_schema', true), '')::integer >= 22) IS NOT TRUE THEN
        RAISE EXCEPTION 'this seriatim is older than the database, which has schema version 21 or newer: stop it, and start the newer one (process "%", lane %)',
            NEW.process_name, NEW.lane
            USING ERRCODE = 'check_violation',
                  HINT = 'By hand, use the acts of seriatim (pause, skip, rewind, lanes) instead of writing seriatim.cursor.';
    END IF;
    -- A program of before retired names must stop at such a row too, and say why.
    IF OLD.state = 'retired' THEN
        RAISE EXCEPTION '%', OLD.detail USING ERRCODE = 'check_violation';
    END IF;
    IF (octet_length(NEW.process_name) BETWEEN 1 AND 63
        AND NEW.lane >= 0 AND NEW.lanes > NEW.lane
        AND NEW.sequence >= 0 AND NEW.attempts >= 0 AND NEW.crashes >= 0
        AND NEW.state IN ('running', 'retrying', 'halted', 'paused', 'retired')
        AND (NEW.position_at IS NULL) = (NEW.position_id IS NULL)
        AND (NEW.bucket_at IS NULL) = (NEW.bucket_id IS NULL)
        AND (NEW.barrier_at IS NULL) = (NEW.barrier_id IS NULL)) IS NOT TRUE
    THEN
        RAISE EXCEPTION 'no cursor can stand like this: process "%", lane % of %, state %, sequence %, attempts %, crashes %, position (%, %), bucket (%, %), barrier (%, %)',
            NEW.process_name, NEW.lane, NEW.lanes, NEW.state, NEW.sequence, NEW.attempts, NEW.crashes,
            NEW.position_at, NEW.position_id, NEW.bucket_at, NEW.bucket_id, NEW.barrier_at, NEW.barrier_id
            USING ERRCODE = 'check_violation',
                  HINT = 'Use the acts of seriatim (pause, skip, rewind, lanes) instead of writing it by hand.';
    END IF;
    -- A full bucket becomes a row of the ledger in the transaction that fills it; not by an operator's act,
    -- which may go back: all of them raise the epoch. Full are 64 listed ids or ranges, which every commit
    -- rewrites with the cursor's row, or 1 000 rows, as many as the audit reads in a step. 1352 bytes are 64
    -- ranges (PostgreSQL 14 to 18): known at once, as is the span of all; only a wide span is counted.
    IF NEW.epoch = OLD.epoch
       AND (cardinality(NEW.bucket_ids) >= 64 OR pg_column_size(NEW.bucket_ranges) >= 1352
            OR (cardinality(NEW.bucket_ids)
                    + (upper(NEW.bucket_ranges)::float8 - lower(NEW.bucket_ranges)::float8) >= 1000
                AND seriatim.ledger_rows(NEW.bucket_ids, NEW.bucket_ranges) >= 1000))
    THEN
        -- The hash is computed when it is needed: here it took half of what noting 1 000 rows took.
        INSERT INTO seriatim.ledger
            (process_name, lane, lanes, number, from_at, from_id, to_at, to_id, rows, ids, ranges, newest_at)
        VALUES (NEW.process_name, NEW.lane, NEW.lanes, NEW.sequence, NEW.bucket_at, NEW.bucket_id,
                NEW.position_at, NEW.position_id, seriatim.ledger_rows(NEW.bucket_ids, NEW.bucket_ranges),
                NEW.bucket_ids, nullif(NEW.bucket_ranges, '{}'), NEW.bucket_newest_at);
        NEW.bucket_at := NEW.position_at;
        NEW.bucket_id := NEW.position_id;
        NEW.bucket_ids := '{}';
        NEW.bucket_ranges := '{}';
        NEW.bucket_newest_at := NULL;
    END IF;
    NEW.updated_at := clock_timestamp();
    RETURN NEW;
END $$;
