-- The rows of a range: what is too large is named, not sent, and the batch ends before its rows pass $1 bytes.
-- Read in binary form.  $2 bytes a payload, and of what travels with it
SELECT id, created_at::timestamptz,
       CASE WHEN fits THEN key END, CASE WHEN fits THEN event_type END,
       CASE WHEN fits THEN headers END, CASE WHEN fits THEN payload END,
       CASE WHEN retyped THEN 'retyped' WHEN NOT fits THEN 'too large' END,
       payload_bytes, other_bytes, late, found {more}
FROM (
    SELECT s.*, row_number() OVER place AS number, count(*) OVER () AS found,
           sum(CASE WHEN fits THEN payload_bytes + other_bytes ELSE 0 END) OVER place AS running_bytes
    FROM (
        SELECT q.*, payload_bytes <= $2::bigint AND other_bytes <= $2::bigint AS fits
        FROM (
            SELECT r.*, coalesce(octet_length(payload), 0)::bigint AS payload_bytes,
                   coalesce(octet_length(key), 0)::bigint + coalesce(octet_length(event_type), 0)
                       + coalesce(octet_length(headers), 0) AS other_bytes
            FROM ({range}) AS r
        ) AS q
    ) AS s
    WINDOW place AS (ORDER BY {place} ROWS UNBOUNDED PRECEDING)
) AS b
WHERE number = 1 OR running_bytes <= $1::bigint
ORDER BY {place}
