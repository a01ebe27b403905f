-- Called by producers inside the transaction that changes their own tables.
CREATE OR REPLACE FUNCTION seriatim.append(
    aggregate_type text,
    aggregate_id   text,
    event_type     text,
    payload        json,
    headers        jsonb DEFAULT '{}'
) RETURNS bigint
LANGUAGE sql AS $$
    INSERT INTO seriatim.outbox (aggregate_type, aggregate_id, event_type, payload, headers)
    VALUES ($1, $2, $3, $4, coalesce($5, '{}'))
    RETURNING id;
$$;
