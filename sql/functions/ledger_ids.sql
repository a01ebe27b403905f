-- The ids a bucket notes, listed or in ranges. BEGIN ATOMIC fixes what each name means when the function is made,
-- as a fixed search_path would. Call it in a SELECT list: in FROM it is inlined, with estimates that start JIT.
CREATE OR REPLACE FUNCTION seriatim.ledger_ids(ids text[], ranges int8multirange) RETURNS SETOF text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT unnest(ledger_ids.ids)
    UNION ALL
    SELECT generate_series(lower(one.range), upper(one.range) - 1)::text
    FROM unnest(ledger_ids.ranges) AS one (range);
END;
