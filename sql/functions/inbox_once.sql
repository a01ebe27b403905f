-- True: this consumer takes this event for the first time, now, in the caller's transaction; if that
-- is rolled back it was never taken. False: it was taken before. While another transaction is at the
-- same event this waits for its end.
CREATE OR REPLACE FUNCTION seriatim.inbox_once(consumer text, event_id text) RETURNS boolean
LANGUAGE sql AS $$
    WITH taken AS (
        INSERT INTO seriatim.inbox (consumer, event_id) VALUES ($1, $2)
        ON CONFLICT DO NOTHING
        RETURNING true
    )
    SELECT EXISTS (SELECT FROM taken);
$$;
