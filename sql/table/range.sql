-- A lane's rows in a range, in its order: one range of an index.
SELECT {lead} AS place, t.{id} AS tie,
       t.{id}::text AS id, {created_at_utc} AS created_at, false AS late,
       ({key})::text AS key, ({event_type})::text AS event_type,
       {header_pairs} AS headers, {payload_text} AS payload,
       (pg_typeof({raw_payload}) = 'pg_catalog.bytea'::regtype) <> {payload_is_binary} AS retyped
FROM {table} AS t
WHERE {bounds}
  AND {alone}
  AND (SELECT to_regclass({table_text})::oid = {oid}::oid  -- no other table in its place
       AND row_security_active({oid}::oid) = {policed})  -- and none of its rows hidden since
  AND ({where}) AND {lane_filter}
ORDER BY {place}
LIMIT {rows_max}
