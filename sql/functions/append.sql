-- Called by producers inside the transaction that changes their own tables. Nothing in it is resolved by the
-- caller's search_path; it sets none, because triggers that users put on the outbox run with the caller's.
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
