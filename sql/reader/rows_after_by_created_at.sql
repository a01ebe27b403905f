-- Rows after a place, in order, whatever `where` says of them: it is asked apart where it fails on one of them.
-- $1, $2 after this place  $3 at or after this moment  $4 rows
SELECT t.{id}::text AS id, (extract(epoch FROM t.{created_at}) * 1000000)::bigint AS created_at_us
FROM {table} AS t
WHERE ($1::timestamptz IS NULL
       OR (t.{created_at}, t.{id}) > ($1::timestamptz, $2::{id_type}))
  AND t.{created_at} > '-infinity' AND t.{created_at} < '294247-01-01 UTC'
  AND ($3::timestamptz IS NULL OR t.{created_at} >= $3::timestamptz)
ORDER BY t.{created_at}, t.{id}
LIMIT $4::bigint
