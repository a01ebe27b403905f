-- Schema seriatim, first version. Run inside one transaction by `seriatim init`.
CREATE SCHEMA IF NOT EXISTS seriatim;

CREATE TABLE seriatim.migration (
    version    integer PRIMARY KEY,
    name       text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- One locked row per process and lane: the last position delivered or set aside, and how the lane
-- stands. The holder moves it only by compare-and-set on epoch and old position.
CREATE TABLE seriatim.cursor (
    process_name    text NOT NULL CHECK (octet_length(process_name) BETWEEN 1 AND 63),
    lane            integer NOT NULL CHECK (lane >= 0),
    lanes           integer NOT NULL CHECK (lanes > lane),
    position_at     timestamptz,               -- created_at of the row at the cursor; NULL: before the first
    position_id     text,                      -- its id, in text form
    sequence        bigint NOT NULL DEFAULT 0 CHECK (sequence >= 0),
    epoch           bigint NOT NULL DEFAULT 0, -- grows with every change of holder
    state           text NOT NULL DEFAULT 'running'
                    CHECK (state IN ('running', 'retrying', 'halted', 'paused')),
    reason          text,                      -- halt code: POISON, LATE_ROW, …
    detail          text,                      -- what the receiver or the database said
    failed_id       text,                      -- id of the row that failed
    attempts        integer NOT NULL DEFAULT 0 CHECK (attempts >= 0), -- started for the next row
    crashes         integer NOT NULL DEFAULT 0 CHECK (crashes >= 0),  -- of these, ended with the process
    next_attempt_at timestamptz,               -- retrying: not before
    holder          text,                      -- host:pid:random of the relay; NULL: free
    holder_pid      integer,                   -- its backend, NULL behind a pooler
    holder_started  timestamptz,               -- backend_start of it
    lease_until     timestamptz,               -- a holder silent for longer is replaced
    created_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (process_name, lane),
    CHECK (num_nulls(position_at, position_id) IN (0, 2))
) WITH (fillfactor = 50);                      -- room for HOT updates: this row changes all day

-- Every operator act and every change of holder.
CREATE TABLE seriatim.journal (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at           timestamptz NOT NULL DEFAULT clock_timestamp(),
    process_name text NOT NULL,
    lane         integer,
    act          text NOT NULL,                -- claim, release, pause, resume, retry, skip, halt, …
    who          text NOT NULL,
    why          text,
    epoch        bigint,
    position_at  timestamptz,                  -- of the cursor before the act
    position_id  text,
    row_id       text,                         -- the row acted upon
    detail       jsonb
);
CREATE INDEX journal_process ON seriatim.journal (process_name, id);

-- The ready-made outbox.
CREATE TABLE seriatim.outbox (
    id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    aggregate_type text NOT NULL,
    aggregate_id   text NOT NULL,
    event_type     text NOT NULL,
    payload        json,                       -- json, not jsonb: delivered exactly as written
    headers        jsonb NOT NULL DEFAULT '{}',
    created_at     timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX outbox_created_at ON seriatim.outbox (created_at, id);

-- include functions/touch_updated_at.sql
-- include functions/hint.sql
-- include functions/append.sql
-- include views/lanes.sql

CREATE TRIGGER cursor_touch BEFORE UPDATE ON seriatim.cursor
    FOR EACH ROW EXECUTE FUNCTION seriatim.touch_updated_at();
CREATE TRIGGER outbox_hint AFTER INSERT ON seriatim.outbox
    FOR EACH STATEMENT EXECUTE FUNCTION seriatim.hint();
