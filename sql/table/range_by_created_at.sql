-- A lane's settled rows after the cursor, in its order: one range of the index (created_at, id).
-- $3, $4 cursor  $5 settled: strictly below  $6 nothing waits below this  $7 this row alone, where asked for
SELECT t.{created_at} AS place, t.{id} AS tie,
       t.{id}::text AS id, t.{created_at} AS created_at, false AS late,
       ({key})::text AS key, ({event_type})::text AS event_type,
       {header_pairs} AS headers, {payload_text} AS payload,
       (pg_typeof({raw_payload}) = 'pg_catalog.bytea'::regtype) <> {payload_is_binary} AS retyped
FROM {table} AS t
WHERE {after_cursor}
  AND t.{created_at} < {settled}
  AND t.{created_at} >= {floor}
  AND {alone}
  AND (SELECT to_regclass({table_text})::oid = {oid}::oid  -- no other table in its place
       AND row_security_active({oid}::oid) = {policed})  -- and none of its rows hidden since
  AND ({where}) AND {lane_filter}
ORDER BY t.{created_at}, t.{id}
LIMIT {rows_max}
