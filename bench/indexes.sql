-- What an index is worth to the relay: one keyset fetch of 100 rows from a table of 10^6, by
-- sequential scan, BRIN and btree, at the three places a cursor can stand. Any throwaway database:
--   psql -X -v ON_ERROR_STOP=1 -d DATABASE -f bench/indexes.sql
-- The table is temporary: nothing is left behind. docs/indexes.md discusses the figures.
\set QUIET on
\pset format aligned
\pset border 1
\pset null '-'
SET max_parallel_workers_per_gather = 0;
SET client_min_messages = warning;

CREATE TEMP TABLE bookings (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    payload    json NOT NULL
);
-- One row a millisecond, in the order a live table gets them; ~200 bytes each.
INSERT INTO bookings (created_at, payload)
SELECT timestamptz '2024-01-01' + n * interval '1 ms',
       json_build_object('booking', n, 'phone', '+4512345678', 'note', repeat('x', 100))
FROM generate_series(1, 1000000) AS n;
VACUUM ANALYZE bookings;

CREATE TEMP TABLE figure (index text, cursor_at text, ms numeric, buffers bigint, plan text);

-- The relay's fetch, eleven times; the median of the run times and the pages touched by one.
CREATE FUNCTION pg_temp.measure(index text, cursor_at text, after_id bigint, help_brin boolean)
RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    after_time timestamptz := timestamptz '2024-01-01' + after_id * interval '1 ms';
    explained json;
    times numeric[] := '{}';
    -- BRIN cannot use a row comparison; this condition says the same to it.
    redundant text := CASE WHEN help_brin THEN format('AND created_at >= %L', after_time) ELSE '' END;
BEGIN
    FOR i IN 1..11 LOOP
        EXECUTE format('EXPLAIN (ANALYZE, BUFFERS, TIMING off, FORMAT json)
                        SELECT id, created_at, payload FROM bookings
                        WHERE (created_at, id) > (%L, %L)
                          AND created_at < timestamptz ''2030-01-01'' %s
                        ORDER BY created_at, id LIMIT 100', after_time, after_id, redundant)
        INTO explained;
        times := times || ((explained->0->>'Execution Time')::numeric
                           + (explained->0->>'Planning Time')::numeric);
    END LOOP;
    INSERT INTO figure
    SELECT index, cursor_at,
           (SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY t) FROM unnest(times) AS t),
           (p->>'Local Hit Blocks')::bigint + (p->>'Local Read Blocks')::bigint,
           (SELECT string_agg(m[1], ' < ')
            FROM regexp_matches(explained::text, '"Node Type": "([^"]+)"', 'g') AS m)
    FROM (SELECT explained->0->'Plan' AS p) AS top;
END $$;

CREATE FUNCTION pg_temp.measure_all(index text, help_brin boolean DEFAULT false) RETURNS void
LANGUAGE sql AS $$
    SELECT pg_temp.measure(index, 'start', 0, help_brin);
    SELECT pg_temp.measure(index, 'middle', 500000, help_brin);
    SELECT pg_temp.measure(index, '100 rows before the end', 999900, help_brin);
$$;

SELECT pg_temp.measure_all('none (sequential scan)') \g /dev/null

CREATE INDEX by_brin ON bookings USING brin (created_at) WITH (pages_per_range = 32);
SELECT pg_temp.measure_all('BRIN (created_at)') \g /dev/null
SELECT pg_temp.measure_all('BRIN, query helped', true) \g /dev/null
SELECT 'BRIN (created_at), pages_per_range 32' AS index, pg_size_pretty(pg_relation_size('by_brin')) AS size
UNION ALL
SELECT 'table', pg_size_pretty(pg_relation_size('bookings'));
DROP INDEX by_brin;

CREATE INDEX by_btree ON bookings (created_at, id);
SELECT pg_temp.measure_all('btree (created_at, id)') \g /dev/null
SELECT 'btree (created_at, id)' AS index, pg_size_pretty(pg_relation_size('by_btree')) AS size;

SELECT index, cursor_at, round(ms, 2) AS median_ms, buffers AS pages, plan FROM figure;
