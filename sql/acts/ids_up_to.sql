-- Those of the ids $1 whose rows are at or before the place $2, $3, and the newest created_at of these.
SELECT coalesce(json_agg(t.{id}::text), '[]')::text AS ids,
       max({created_at_utc}) FILTER (WHERE isfinite({created_at_utc})) AS newest_at
FROM {table} AS t
WHERE t.{id} = ANY ($1::{id_type}[])
  AND ($2::timestamptz IS NULL OR ({place}) <= ({place:$2,$3}))
