-- Forgets a consumer's oldest events, at most rows_max of them; answers how many. Call it until it
-- answers less than rows_max, a transaction each. An event that comes again afterwards is taken again.
CREATE OR REPLACE FUNCTION seriatim.inbox_prune(
    consumer   text,
    older_than interval,
    rows_max   integer DEFAULT 10000
) RETURNS bigint
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    pruned bigint;
BEGIN
    IF older_than IS NULL OR older_than <= interval '0' OR rows_max IS NULL OR rows_max < 1 THEN
        RAISE EXCEPTION 'inbox_prune: older_than (%) and rows_max (%) must be positive', older_than, rows_max
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    DELETE FROM seriatim.inbox AS i
    USING (
        SELECT o.consumer, o.event_id
        FROM seriatim.inbox AS o
        WHERE o.consumer = inbox_prune.consumer AND o.received_at < clock_timestamp() - older_than
        ORDER BY o.received_at
        LIMIT rows_max
        FOR UPDATE SKIP LOCKED
    ) AS old
    WHERE i.consumer = old.consumer AND i.event_id = old.event_id;
    GET DIAGNOSTICS pruned = ROW_COUNT;
    RETURN pruned;
END $$;
