-- Adds what lanes of process $1 did in minute $2 to what is known of that minute; minutes of more than 25 h ago go.
WITH gone AS (
    DELETE FROM seriatim.history
    WHERE process_name = $1 AND minute < clock_timestamp() - interval '25 hours'
)
INSERT INTO seriatim.history AS h
       (process_name, minute, lane, delivered, failures, calls, call_sum_us, call_max_us, age_max_us)
SELECT $1, date_trunc('minute', $2::timestamptz), m.*
FROM unnest($3::integer[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[]) AS m
ON CONFLICT (process_name, minute, lane) DO UPDATE
SET delivered = h.delivered + excluded.delivered,
    failures = h.failures + excluded.failures,
    calls = h.calls + excluded.calls,
    call_sum_us = h.call_sum_us + excluded.call_sum_us,
    call_max_us = greatest(h.call_max_us, excluded.call_max_us),
    age_max_us = greatest(h.age_max_us, excluded.age_max_us)
