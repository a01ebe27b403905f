-- Locks lanes (NULL: all) for an act, always in the same order, and answers those with a call in flight: the act must not
-- change them yet. A call is over if its holder's backend is gone, as in the view seriatim.lanes. It is over too if the
-- holder was silent past its lease, but not by the server's clock alone, which may have been set forward: who acts names
-- in `silent` the leases that ran out on the clock of its own, [{"lane": 0, "epoch": "7", "until": "…"}].
CREATE OR REPLACE FUNCTION seriatim.lanes_in_call(process text, of_lanes integer[], silent jsonb)
RETURNS TABLE (lane integer, holder text, called_ms bigint)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    PERFORM FROM seriatim.cursor AS c
    WHERE c.process_name = process AND (of_lanes IS NULL OR c.lane = ANY (of_lanes))
    ORDER BY c.lane
    FOR UPDATE;
    PERFORM pg_stat_clear_snapshot();  -- else backends are shown as they were earlier in this transaction
    RETURN QUERY
    SELECT c.lane, c.holder, (extract(epoch FROM clock_timestamp() - c.calling_since) * 1000)::bigint
    FROM seriatim.cursor AS c
    WHERE c.process_name = process AND (of_lanes IS NULL OR c.lane = ANY (of_lanes))
      AND c.call_epoch = c.epoch AND c.holder IS NOT NULL
      AND (c.holder_pid IS NULL
           OR EXISTS (SELECT FROM pg_stat_activity AS a
                      WHERE a.pid = c.holder_pid
                        AND (a.backend_start IS NULL OR a.backend_start = c.holder_started)))
      AND NOT (c.lease_until < clock_timestamp()
               AND EXISTS (SELECT FROM jsonb_array_elements(silent) AS s
                           WHERE (s->>'lane')::integer = c.lane AND s->>'epoch' = c.epoch::text
                             AND (s->>'until')::timestamptz = c.lease_until))
    ORDER BY c.lane;
END $$;
