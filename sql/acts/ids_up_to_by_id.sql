-- Those of the ids $1 at or before the place $2.
SELECT coalesce(array_agg(t.{id}::text), '{}') AS ids
FROM {table} AS t
WHERE t.{id} = ANY ($1::{id_type}[]) AND t.{id} <= $2::bigint
