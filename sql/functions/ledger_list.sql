-- ledger_ids.sql as an array. plpgsql is not inlined, so a statement that calls it in a CASE pays for it only if
-- that is taken.
CREATE OR REPLACE FUNCTION seriatim.ledger_list(ids text[], ranges int8multirange) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN ARRAY(SELECT seriatim.ledger_ids(ids, ranges));
END $$;
