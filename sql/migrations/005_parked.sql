-- Rows set aside because they failed (on_poison = 'park_key' or 'dead_letter'), and rows that queue
-- behind them. They stay in their table; what is kept here is that they are still to be decided on.
CREATE TABLE seriatim.parked (
    process_name text NOT NULL,
    row_id       text NOT NULL,
    number       bigint GENERATED ALWAYS AS IDENTITY, -- the order they were set aside in, and go out in
    lane         integer NOT NULL,     -- whose ledger counts the row
    position_at  timestamptz NOT NULL,
    key          text,                 -- rows without a key count as rows of one key
    key_hash     bigint GENERATED ALWAYS AS (coalesce(hashtextextended(key, 0), 0)) STORED,
    holds_key    boolean NOT NULL,     -- later rows of its key queue behind it: park_key
    head         boolean NOT NULL,     -- the first of its key, or a dead letter
    attempts     integer NOT NULL DEFAULT 0, -- 0: never handed over, it queues
    detail       text,                 -- what the receiver said last
    parked_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    redrive_at   timestamptz,          -- it is to be handed over again, asked for then
    PRIMARY KEY (process_name, row_id)
);
CREATE INDEX parked_key ON seriatim.parked (process_name, key_hash, number);
CREATE INDEX parked_head ON seriatim.parked (process_name) WHERE head;
CREATE INDEX parked_redrive ON seriatim.parked (process_name, number) WHERE redrive_at IS NOT NULL;

ALTER TABLE seriatim.cursor
    -- Numbers given to rows that were parked before, which the ledger counted then.
    ADD COLUMN redriven  bigint NOT NULL DEFAULT 0,
    -- Numbers of rows set aside, whatever became of them: receivers are told, and do not wait.
    ADD COLUMN set_aside bigint NOT NULL DEFAULT 0,
    -- The highest number a receiver may have seen: above `sequence` while rows that come next may
    -- be with it.
    ADD COLUMN handed_to bigint NOT NULL DEFAULT 0;
