-- The rows of the ids $1, in that order, and whether they stand behind the cursor $2 $3 (NULL: none yet).
-- $4 rows  $5 bytes a payload  $6 bytes in all
SELECT id, created_at_us, late, payload_bytes, other_bytes, fits, found,
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
            SELECT wanted.place AS place_wanted,
                   coalesce((t.{created_at}, t.{id}) <= ($2::timestamptz, $3::{id_type}), false) AS late,
                   t.{id}::text AS id,
                   CASE WHEN isfinite(t.{created_at}) THEN
                       (extract(epoch FROM t.{created_at}) * 1000000)::bigint END AS created_at_us,
                   ({key})::text AS key, ({event_type})::text AS event_type,
                   {header_pairs} AS headers, {payload_text} AS payload,
                   pg_typeof({raw_payload}) = 'pg_catalog.bytea'::regtype AS payload_is_binary
            FROM {table} AS t
            JOIN unnest($1::text[]) WITH ORDINALITY AS wanted (id, place)
              ON t.{id} = wanted.id::{id_type}
            WHERE true
              AND (SELECT to_regclass({table_text})::oid = {oid}::oid  -- no other table in its place
                   AND row_security_active({oid}::oid) = {policed})  -- and none of its rows hidden since
              AND ({where}) AND {lane_filter}
            ORDER BY wanted.place
            LIMIT $4::bigint
        ) AS r
    ) AS s
    WINDOW place AS (ORDER BY s.place_wanted ROWS UNBOUNDED PRECEDING)
) AS b
WHERE number = 1 OR running_bytes <= $6::bigint
ORDER BY place_wanted
