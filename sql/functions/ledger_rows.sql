-- How many ids a bucket notes, by the bounds of its ranges.
CREATE OR REPLACE FUNCTION seriatim.ledger_rows(ids text[], ranges int8multirange) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT coalesce(cardinality(ledger_rows.ids), 0)
           + coalesce((SELECT sum(upper(one.range) - lower(one.range))
                       FROM unnest(ledger_rows.ranges) AS one (range)), 0)::bigint;
END;
