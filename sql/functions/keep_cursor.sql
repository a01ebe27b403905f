-- All that holds for a cursor row, and what follows from a change of it. One function instead of CHECKs
-- and triggers with a WHEN: those are read from the catalogue's text anew in every UPDATE, which took 58 of
-- the 260 µs of a commit a row; plpgsql keeps what it has read (PostgreSQL 15).
CREATE OR REPLACE FUNCTION seriatim.keep_cursor() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
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
    -- which may go back: all of them raise the epoch.
    IF NEW.epoch = OLD.epoch AND cardinality(NEW.bucket_ids) >= 64 THEN
        INSERT INTO seriatim.ledger
            (process_name, lane, lanes, number, from_at, from_id, to_at, to_id, rows, hash, ids)
        VALUES (NEW.process_name, NEW.lane, NEW.lanes, NEW.sequence, NEW.bucket_at, NEW.bucket_id,
                NEW.position_at, NEW.position_id, cardinality(NEW.bucket_ids),
                (SELECT bit_xor(hashtextextended(id, 0)) FROM unnest(NEW.bucket_ids) AS id),
                NEW.bucket_ids);
        NEW.bucket_at := NEW.position_at;
        NEW.bucket_id := NEW.position_id;
        NEW.bucket_ids := '{}';
    END IF;
    NEW.updated_at := clock_timestamp();
    RETURN NEW;
END $$;
