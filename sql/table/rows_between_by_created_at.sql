-- A lane's rows after $1, $2 up to and with $3, $4 (NULL: before the first row), counted.
SELECT count(*)
FROM {table} AS t
WHERE ($1::timestamptz IS NULL OR (t.{created_at}, t.{id}) > ($1::timestamptz, $2::{id_type}))
  AND (t.{created_at}, t.{id}) <= ($3::timestamptz, $4::{id_type})
  AND ({where}) AND {lane_filter}
