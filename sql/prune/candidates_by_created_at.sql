-- Rows older than $3 after the place $1, $2, in order.  $4 rows
SELECT t.{id}::text AS id, (extract(epoch FROM t.{created_at}) * 1000000)::bigint AS created_at_us,
       hashtextextended(t.{id}::text, 0) AS hash, ({below}) AS below, ({free}) AS free, true AS old
FROM {table} AS t
WHERE ($1::timestamptz IS NULL OR (t.{created_at}, t.{id}) > ($1::timestamptz, $2::{id_type}))
  AND t.{created_at} < $3::timestamptz AND isfinite(t.{created_at})
ORDER BY t.{created_at}, t.{id}
LIMIT $4::bigint
