-- The last row of a lane before a place in the order: where a cursor stands that goes on from there.
-- $1, $2 the place; $2 NULL: the first row of that time; $1 NULL: behind the last row
SELECT t.{id}::text AS id, (extract(epoch FROM t.{created_at}) * 1000000)::bigint AS created_at_us
FROM {table} AS t
WHERE ($1::timestamptz IS NULL OR t.{created_at} <= $1::timestamptz)
  AND ($1::timestamptz IS NULL OR t.{created_at} < $1::timestamptz OR t.{id} < $2::{id_type})
  AND t.{created_at} < '294247-01-01 UTC' AND isfinite(t.{created_at})
  AND ({where}) AND {lane_filter}
ORDER BY t.{created_at} DESC, t.{id} DESC
LIMIT 1
