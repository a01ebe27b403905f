-- Asks for a turn: no further call of these lanes (NULL: of all) is announced for so many ms. Of several who ask, the one
-- who asked last is named. 0 ms: the turn is over, or not wanted any more.
CREATE OR REPLACE FUNCTION seriatim.hold(process text, of_lanes integer[], by_whom text, for_ms bigint) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM FROM seriatim.cursor AS c
    WHERE c.process_name = process AND (of_lanes IS NULL OR c.lane = ANY (of_lanes))
    ORDER BY c.lane
    FOR UPDATE;
    UPDATE seriatim.cursor AS c
    SET hold_by = CASE WHEN for_ms > 0 THEN by_whom END,
        hold_until = CASE WHEN for_ms > 0 THEN clock_timestamp() + for_ms * interval '1 millisecond' END
    WHERE c.process_name = process AND (of_lanes IS NULL OR c.lane = ANY (of_lanes))
      AND (for_ms > 0 OR c.hold_by = by_whom);
END $$;
