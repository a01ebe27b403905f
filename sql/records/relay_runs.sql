-- This relay runs, $1 its name. Those that no longer say so are forgotten after a day.
-- $2 version  $3 hash of the configuration  $4 processes
WITH gone AS (
    DELETE FROM seriatim.relay WHERE seen_at < clock_timestamp() - interval '1 day' AND name <> $1
)
INSERT INTO seriatim.relay AS r (name, version, config_hash, processes)
VALUES ($1, $2, $3, $4::text[])
ON CONFLICT (name) DO UPDATE SET seen_at = clock_timestamp()
