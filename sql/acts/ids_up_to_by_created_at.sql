-- Those of the ids $1 whose rows stand at or before the place $2, $3.
SELECT coalesce(array_agg(t.{id}::text), '{}') AS ids
FROM {table} AS t
WHERE t.{id} = ANY ($1::{id_type}[])
  AND (t.{created_at}, t.{id}) <= ($2::timestamptz, $3::{id_type})
