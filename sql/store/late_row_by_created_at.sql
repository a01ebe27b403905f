-- The row $3, where it is this lane's and stands behind the cursor $1 $2.
SELECT t.{id}::text AS id, (extract(epoch FROM t.{created_at}) * 1000000)::bigint AS created_at_us
FROM {table} AS t
WHERE t.{id} = $3::{id_type}
  AND (t.{created_at}, t.{id}) <= ($1::timestamptz, $2::{id_type})
  AND isfinite(t.{created_at})
  AND ({where}) AND {lane_filter}
