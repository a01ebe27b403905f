-- Those of the ids $1 at or before the place $2, and the newest created_at of their rows.
SELECT coalesce(json_agg(t.{id}::text), '[]')::text AS ids,
       max({created_at_utc}) FILTER (WHERE isfinite({created_at_utc})) AS newest_at
FROM {table} AS t
WHERE t.{id} = ANY ($1::{id_type}[]) AND t.{id} <= $2::bigint
