-- Those of the ids $1 whose rows stand at or before the place $2, $3, and the newest created_at of these.
SELECT coalesce(json_agg(t.{id}::text), '[]')::text AS ids, max(t.{created_at}) AS newest_at
FROM {table} AS t
WHERE t.{id} = ANY ($1::{id_type}[])
  AND (t.{created_at}, t.{id}) <= ($2::timestamptz, $3::{id_type})
