-- The hash of the ids a bucket notes: neither their order nor how they are noted matters. An id noted twice
-- cancels itself, so the audit checks closer.
CREATE OR REPLACE FUNCTION seriatim.ledger_hash(ids text[], ranges int8multirange) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT coalesce((SELECT bit_xor(hashtextextended(noted.id, 0))
                     FROM seriatim.ledger_ids(ledger_hash.ids, ledger_hash.ranges) AS noted (id)), 0);
END;
