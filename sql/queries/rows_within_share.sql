-- The rows of a range, where each keeps to an even share of the batch: so the batch is bounded without a sum
-- over its rows, which costs as much as reading them. A row over $1 bytes is named, not sent.
-- $2 as in rows_within_bytes.sql: a row is no larger than that either
SELECT id, timestamptz_send(created_at), payload_is_binary, late,
       CASE WHEN NOT fits THEN payload_bytes END, CASE WHEN NOT fits THEN other_bytes END,
       CASE WHEN fits THEN key END, CASE WHEN fits THEN event_type END,
       CASE WHEN fits THEN headers END, CASE WHEN fits THEN payload END
FROM (
    SELECT s.*, payload_bytes + other_bytes <= least($1::bigint, $2::bigint) AS fits
    FROM (
        SELECT r.*, coalesce(octet_length(payload), 0)::bigint AS payload_bytes,
               coalesce(octet_length(key), 0)::bigint + coalesce(octet_length(event_type), 0)
                   + coalesce(octet_length(headers), 0) AS other_bytes
        FROM ({range}) AS r
    ) AS s
) AS b
ORDER BY {place}
