-- What operators see of the past, and what they are called for.

-- Each `seriatim audit`.
CREATE TABLE seriatim.audit_report (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    process_name text NOT NULL,
    at           timestamptz NOT NULL DEFAULT clock_timestamp(),
    who          text NOT NULL,
    sound        boolean NOT NULL,             -- every row behind the cursors was found delivered, once
    rows         bigint NOT NULL,              -- so many were recounted
    hash         text NOT NULL,                -- XOR over their ids, as docs/audit.md says
    through_at   timestamptz,                  -- the place of the cursor that is furthest behind
    through_id   text,
    detail       text NOT NULL                 -- the finding, in words
);
CREATE INDEX audit_report_process ON seriatim.audit_report (process_name, id);

-- What each lane did, minute by minute, for 25 hours.
CREATE TABLE seriatim.history (
    process_name text NOT NULL,
    minute       timestamptz NOT NULL,
    lane         integer NOT NULL,
    delivered    bigint NOT NULL,
    failures     bigint NOT NULL,              -- calls that ended retry, unknown or poison
    calls        bigint NOT NULL,
    call_sum_us  bigint NOT NULL,
    call_max_us  bigint NOT NULL,
    age_max_us   bigint NOT NULL,              -- created_at to the commit of the delivery
    PRIMARY KEY (process_name, minute, lane)
);

-- What a person must be called for. One row for each time it begins, whichever relays see it.
CREATE TABLE seriatim.alert (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    process_name text NOT NULL,                -- '': it concerns no process
    lane         integer NOT NULL,             -- -1: it concerns no lane
    kind         text NOT NULL,                -- halted, unheld, lag, …
    summary      text NOT NULL,                -- one sentence
    body         json NOT NULL,                -- what is known of it, for the message
    opened_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    clear_since  timestamptz,                  -- nobody sees it any more
    resolved_at  timestamptz,
    turn         integer NOT NULL DEFAULT 1,   -- number of the latest message on it
    accepted     integer NOT NULL DEFAULT 0,   -- … and of the latest that was accepted
    accepted_at  timestamptz,
    tries        integer NOT NULL DEFAULT 0,   -- of the latest message
    next_try_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    last_error   text
);
CREATE UNIQUE INDEX alert_open ON seriatim.alert (process_name, lane, kind) WHERE resolved_at IS NULL;
CREATE INDEX alert_unsent ON seriatim.alert (next_try_at) WHERE accepted < turn;

-- The relays that run, and with which configuration.
CREATE TABLE seriatim.relay (
    name         text PRIMARY KEY,             -- host:pid:random
    version      text NOT NULL,
    config_hash  text NOT NULL,
    processes    text[] NOT NULL,
    started_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    seen_at      timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 50);                      -- room for HOT updates

-- The roles that run relays have these rights on seriatim.instance already.
DO $$
DECLARE
    right_of record;
BEGIN
    FOR right_of IN
        SELECT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END AS role, a.privilege_type AS name
        FROM pg_class AS c CROSS JOIN LATERAL aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) AS a
        WHERE c.oid = 'seriatim.instance'::regclass
          AND a.grantee <> (SELECT o.relowner FROM pg_class AS o WHERE o.oid = 'seriatim.alert'::regclass)
    LOOP
        EXECUTE format('GRANT %s ON seriatim.audit_report, seriatim.history, seriatim.alert, seriatim.relay TO %s',
                       right_of.name, right_of.role);
    END LOOP;
END $$;
