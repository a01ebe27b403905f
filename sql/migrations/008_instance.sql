-- The instances that run a process of several lanes, which they share; each tells once a second that it
-- does. Nothing rests on it but how evenly lanes are held: who holds one, the cursor's row says.
CREATE TABLE seriatim.instance (
    process_name text NOT NULL,
    holder       text NOT NULL,            -- host:pid:random, as in seriatim.cursor
    lanes        integer NOT NULL,         -- as it is configured
    backend_pid  integer,                  -- of the session that tells, NULL behind a pooler
    backend_started timestamptz,
    seen_at      timestamptz NOT NULL,
    PRIMARY KEY (process_name, holder)
) WITH (fillfactor = 50);                  -- room for HOT updates

-- include views/instances.sql
