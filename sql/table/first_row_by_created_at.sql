-- The first row at or after $3, whatever is in it: is anything held back, or which row cannot be read?
-- Rows stamped infinity, or beyond 64 bits of microseconds, are no one's future (see unstamped_row.sql).
SELECT t.{id}::text AS id,
       CASE WHEN isfinite(t.{created_at}) THEN
           (extract(epoch FROM t.{created_at}) * 1000000)::bigint END AS created_at_us
FROM {table} AS t
WHERE ($1::timestamptz IS NULL
       OR (t.{created_at}, t.{id}) > ($1::timestamptz, $2::{id_type}))
  AND t.{created_at} < '294247-01-01 UTC'
  AND ($3::timestamptz IS NULL OR t.{created_at} >= $3::timestamptz)
  AND ({where}) AND {lane_filter}
ORDER BY t.{created_at}, t.{id}
LIMIT 1
