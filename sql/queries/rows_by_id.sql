-- As rows_by_created_at.sql, in the order of an identity column.
-- $1 cursor  $2 settled: strictly below  $3 nothing waits below this  $4 rows  $5 bytes a payload
-- $7 this row alone
SELECT id, created_at_us, payload_bytes, other_bytes, fits, found,
       payload_is_binary, CASE WHEN fits THEN key END AS key,
       CASE WHEN fits THEN event_type END AS event_type,
       CASE WHEN fits THEN headers END AS headers,
       CASE WHEN fits THEN payload END AS payload
FROM (
    SELECT s.*,
           payload_bytes <= $5::bigint AND other_bytes <= $5::bigint AS fits,
           row_number() OVER place AS number,
           count(*) OVER () AS found,
           sum(CASE WHEN payload_bytes <= $5::bigint AND other_bytes <= $5::bigint
                    THEN payload_bytes + other_bytes ELSE 0 END) OVER place AS running_bytes
    FROM (
        SELECT r.*, coalesce(octet_length(r.payload), 0)::bigint AS payload_bytes,
               coalesce(octet_length(r.key), 0)::bigint + coalesce(octet_length(r.event_type), 0)
                   + coalesce(octet_length(r.headers), 0) AS other_bytes
        FROM (
            SELECT t.{id} AS position_id,
                   t.{id}::text AS id,
                   CASE WHEN isfinite({created_at_utc}) THEN
                       (extract(epoch FROM {created_at_utc}) * 1000000)::bigint END AS created_at_us,
                   ({key})::text AS key, ({event_type})::text AS event_type,
                   {header_pairs} AS headers, {payload_text} AS payload,
                   pg_typeof({raw_payload}) = 'pg_catalog.bytea'::regtype AS payload_is_binary
            FROM {table} AS t
            WHERE ($1::bigint IS NULL OR t.{id} > $1::bigint)
              AND ($2::bigint IS NULL OR t.{id} < $2::bigint)
              AND ($3::bigint IS NULL OR t.{id} >= $3::bigint)
              AND ($7::bigint IS NULL OR t.{id} = $7::bigint)
              AND (SELECT to_regclass({table_text})::oid = {oid}::oid  -- no other table in its place
                   AND row_security_active({oid}::oid) = {policed})  -- and none of its rows hidden since
              AND ({where}) AND {lane_filter}
            ORDER BY t.{id}
            LIMIT $4::bigint
        ) AS r
    ) AS s
    WINDOW place AS (ORDER BY s.position_id ROWS UNBOUNDED PRECEDING)
) AS b
WHERE number = 1 OR running_bytes <= $6::bigint
ORDER BY position_id
