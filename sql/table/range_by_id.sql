-- A lane's rows in a range of ids, in its order.
-- $3 from  $4 to
SELECT t.{id} AS place,
       t.{id}::text AS id, {created_at_utc} AS created_at, false AS late,
       ({key})::text AS key, ({event_type})::text AS event_type,
       {header_pairs} AS headers, {payload_text} AS payload,
       (pg_typeof({raw_payload}) = 'pg_catalog.bytea'::regtype) <> {payload_is_binary} AS retyped
FROM {table} AS t
WHERE t.{id} BETWEEN {first} AND {last}
  AND (SELECT to_regclass({table_text})::oid = {oid}::oid  -- no other table in its place
       AND row_security_active({oid}::oid) = {policed})  -- and none of its rows hidden since
  AND ({where}) AND {lane_filter}
ORDER BY t.{id}
LIMIT {rows_max}
