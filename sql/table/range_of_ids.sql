-- A lane's rows of the ids $3, in that order, and whether they are behind the cursor $4 $5 (NULL: none yet).
SELECT wanted.seriatim_place AS place,
       t.{id}::text AS id, t.{created_at} AS created_at,
       coalesce((t.{created_at}, t.{id}) <= ($4::timestamptz, $5::{id_type}), false) AS late,
       ({key})::text AS key, ({event_type})::text AS event_type,
       {header_pairs} AS headers, {payload_text} AS payload,
       (pg_typeof({raw_payload}) = 'pg_catalog.bytea'::regtype) <> {payload_is_binary} AS retyped
FROM {table} AS t
JOIN unnest($3::text[]) WITH ORDINALITY AS wanted (seriatim_id, seriatim_place)
  ON t.{id} = wanted.seriatim_id::{id_type}  -- names that no expression of a user's uses
WHERE (SELECT to_regclass({table_text})::oid = {oid}::oid  -- no other table in its place
       AND row_security_active({oid}::oid) = {policed})  -- and none of its rows hidden since
  AND ({where}) AND {lane_filter}
ORDER BY wanted.seriatim_place
LIMIT {rows_max}
