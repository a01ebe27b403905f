-- What an index on the lane is worth to a process of many lanes: one fetch of 100 rows of one lane from a
-- backlog of 10^6 rows with 9 973 keys, and what the index costs each insert. Any throwaway database:
--   psql -X -v ON_ERROR_STOP=1 -d DATABASE -f bench/lanes.sql
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
    key        text NOT NULL,
    payload    json NOT NULL
);
CREATE INDEX ON bookings (created_at, id);

CREATE FUNCTION pg_temp.seconds_to_fill() RETURNS numeric
LANGUAGE plpgsql AS $$
DECLARE began timestamptz := clock_timestamp();
BEGIN
    INSERT INTO bookings (created_at, key, payload)
    SELECT timestamptz '2024-01-01' + n * interval '1 ms', 'customer ' || n % 9973,
           json_build_object('booking', n, 'phone', '+4512345678', 'note', repeat('x', 100))
    FROM generate_series(1, 1000000) AS n;
    RETURN round(extract(epoch FROM clock_timestamp() - began)::numeric, 2);
END $$;

CREATE TEMP TABLE figure (index text, lanes int, ms numeric, rows_read bigint, buffers bigint, plan text);

-- The relay's condition for lane 1 (sql/table/lane_filter.sql), from the middle of the backlog.
CREATE FUNCTION pg_temp.measure(index text, lanes int) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    explained json;
    scan json;
    times numeric[] := '{}';
BEGIN
    FOR i IN 1..11 LOOP
        EXECUTE format(
            'EXPLAIN (ANALYZE, BUFFERS, TIMING off, FORMAT json)
             SELECT t.id, t.created_at, t.payload FROM bookings AS t
             WHERE (t.created_at, t.id) > (timestamptz ''2024-01-01'' + interval ''500 s'', 500000)
               AND t.created_at < ''2025-01-01''
               AND coalesce((hashtextextended((key)::text, 0) %% %1$s + %1$s) %% %1$s, 0) = %2$s
             ORDER BY t.created_at, t.id LIMIT 100', lanes, lanes - 1) INTO explained;
        times := times || ((explained -> 0 ->> 'Execution Time')::numeric
                           + (explained -> 0 ->> 'Planning Time')::numeric);
    END LOOP;
    scan := explained -> 0 -> 'Plan' -> 'Plans' -> 0;
    INSERT INTO figure
    SELECT measure.index, measure.lanes, percentile_disc(0.5) WITHIN GROUP (ORDER BY ms),
           (scan ->> 'Actual Rows')::bigint + coalesce((scan ->> 'Rows Removed by Filter')::bigint, 0),
           (explained -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::bigint
               + (explained -> 0 -> 'Plan' ->> 'Local Hit Blocks')::bigint
               + (explained -> 0 -> 'Plan' ->> 'Local Read Blocks')::bigint,
           coalesce(scan ->> 'Index Name', scan ->> 'Node Type')
    FROM unnest(times) AS ms;
END $$;

SELECT pg_temp.seconds_to_fill() \g /dev/null
VACUUM ANALYZE bookings;
SELECT pg_temp.measure('(created_at, id)', lanes) FROM unnest('{1,4,16,64}'::int[]) AS lanes \g /dev/null
CREATE INDEX by_lane_4 ON bookings ((coalesce((hashtextextended((key)::text, 0) % 4 + 4) % 4, 0)), created_at, id);
CREATE INDEX by_lane_16 ON bookings ((coalesce((hashtextextended((key)::text, 0) % 16 + 16) % 16, 0)), created_at, id);
CREATE INDEX by_lane_64 ON bookings ((coalesce((hashtextextended((key)::text, 0) % 64 + 64) % 64, 0)), created_at, id);
ANALYZE bookings;
SELECT pg_temp.measure('(lane, created_at, id)', lanes) FROM unnest('{4,16,64}'::int[]) AS lanes \g /dev/null
\echo one fetch of 100 rows of one lane
SELECT index, lanes, ms, rows_read, buffers, plan FROM figure ORDER BY lanes, index;
SELECT pg_size_pretty(pg_relation_size('by_lane_64')) AS index_size,
       pg_size_pretty(pg_relation_size('bookings')) AS table_size;

\echo inserting a row, µs
DROP INDEX by_lane_4, by_lane_16, by_lane_64;
TRUNCATE bookings;
SELECT '(created_at, id)' AS indexes, pg_temp.seconds_to_fill() AS us;
TRUNCATE bookings;
CREATE INDEX by_lane_64 ON bookings ((coalesce((hashtextextended((key)::text, 0) % 64 + 64) % 64, 0)), created_at, id);
SELECT '… and (lane, created_at, id)' AS indexes, pg_temp.seconds_to_fill() AS us;
