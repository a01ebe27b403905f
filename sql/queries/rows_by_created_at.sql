-- Settled rows after the cursor. One range of the index (created_at, id); what is too large is named,
-- not sent, and a batch ends before its payloads pass $7 bytes.
-- $1, $2 cursor  $3 settled: strictly below  $4 nothing waits below this  $5 rows  $6 bytes a payload
-- $8 this row alone
SELECT id, created_at_us, payload_bytes, other_bytes, fits, found,
       payload_is_binary, CASE WHEN fits THEN key END AS key,
       CASE WHEN fits THEN event_type END AS event_type,
       CASE WHEN fits THEN headers END AS headers,
       CASE WHEN fits THEN payload END AS payload
FROM (
    SELECT s.*,
           payload_bytes <= $6::bigint AND other_bytes <= $6::bigint AS fits,
           row_number() OVER place AS number,
           count(*) OVER () AS found,
           sum(CASE WHEN payload_bytes <= $6::bigint AND other_bytes <= $6::bigint
                    THEN payload_bytes + other_bytes ELSE 0 END) OVER place AS running_bytes
    FROM (
        SELECT r.*, coalesce(octet_length(r.payload), 0)::bigint AS payload_bytes,
               coalesce(octet_length(r.key), 0)::bigint + coalesce(octet_length(r.event_type), 0)
                   + coalesce(octet_length(r.headers), 0) AS other_bytes
        FROM (
            SELECT t.{id} AS position_id, t.{created_at} AS position_at,
                   t.{id}::text AS id,
                   CASE WHEN isfinite(t.{created_at}) THEN
                       (extract(epoch FROM t.{created_at}) * 1000000)::bigint END AS created_at_us,
                   ({key})::text AS key, ({event_type})::text AS event_type,
                   {header_pairs} AS headers, {payload_text} AS payload,
                   pg_typeof({raw_payload}) = 'pg_catalog.bytea'::regtype AS payload_is_binary
            FROM {table} AS t
            WHERE ($1::timestamptz IS NULL
                   OR (t.{created_at}, t.{id}) > ($1::timestamptz, $2::{id_type}))
              AND t.{created_at} < $3::timestamptz
              AND ($4::timestamptz IS NULL OR t.{created_at} >= $4::timestamptz)
              AND ($8::{id_type} IS NULL OR t.{id} = $8::{id_type})
              AND (SELECT to_regclass({table_text})::oid = {oid}::oid  -- no other table in its place
                   AND row_security_active({oid}::oid) = {policed})  -- and none of its rows hidden since
              AND ({where}) AND {lane_filter}
            ORDER BY t.{created_at}, t.{id}
            LIMIT $5::bigint
        ) AS r
    ) AS s
    WINDOW place AS (ORDER BY s.position_at, s.position_id ROWS UNBOUNDED PRECEDING)
) AS b
WHERE number = 1 OR running_bytes <= $7::bigint
ORDER BY position_at, position_id
