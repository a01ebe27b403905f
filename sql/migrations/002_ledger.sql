-- What was delivered or set aside, by exact ids, kept in the cursor's own transaction: what the audit
-- recounts, and what late rows are told from delivered ones by.

-- The open bucket: ids since the position it begins after (NULL: before the first row).
ALTER TABLE seriatim.cursor
    ADD COLUMN bucket_at    timestamptz,
    ADD COLUMN bucket_id    text,
    ADD COLUMN bucket_ids   text[] NOT NULL DEFAULT '{}',
    ADD COLUMN ledger_start bigint NOT NULL DEFAULT 0,   -- sequence from which on there is a ledger
    ADD COLUMN planned_ids  text[] NOT NULL DEFAULT '{}', -- late_rows = 'deliver': started, in order
    ADD COLUMN looked_at    timestamptz,                  -- … position at the last look for late rows
    ADD CHECK (num_nulls(bucket_at, bucket_id) IN (0, 2)),
    -- This row changes all day: its ids are neither compressed nor moved out at every change.
    SET (toast_tuple_target = 8160);

-- Cursors there are already are audited from here on.
UPDATE seriatim.cursor
SET bucket_at = position_at, bucket_id = position_id, ledger_start = sequence;

-- Closed buckets: ranges of positions (from, to] without a gap. Each position behind the cursor lies
-- in one bucket, or in the open one; a row delivered late is counted where it stands.
CREATE TABLE seriatim.ledger (
    process_name text NOT NULL,
    lane         integer NOT NULL,
    lanes        integer NOT NULL,   -- how many there were: which rows were this lane's
    number       bigint NOT NULL,    -- the sequence when it was closed
    from_at      timestamptz,        -- NULL: before the first row
    from_id      text,
    to_at        timestamptz NOT NULL,
    to_id        text NOT NULL,
    rows         bigint NOT NULL CHECK (rows >= 0),
    hash         bigint NOT NULL,    -- bit_xor of hashtextextended(id, 0): order-free, can be merged
    ids          text[],             -- NULL: sealed, count and hash remain
    closed_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (process_name, lane, number),
    CHECK (num_nulls(from_at, from_id) IN (0, 2))
);
-- Which bucket does a row delivered late stand in? (created_at order)
CREATE INDEX ledger_to_at ON seriatim.ledger (process_name, lane, to_at, number);
-- The oldest buckets that still have their ids.
CREATE INDEX ledger_unsealed ON seriatim.ledger (process_name, lane, number) WHERE ids IS NOT NULL;

-- include functions/close_bucket.sql

-- Not by an operator's act, which may go back: all of them raise the epoch.
CREATE TRIGGER cursor_close_bucket BEFORE UPDATE ON seriatim.cursor
    FOR EACH ROW WHEN (NEW.epoch = OLD.epoch AND cardinality(NEW.bucket_ids) >= 64)
    EXECUTE FUNCTION seriatim.close_bucket();
