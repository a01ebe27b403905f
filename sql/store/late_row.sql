-- The row $5, if it is this lane's and stands behind the cursor. The range: $1, $2 NULL  $3, $4 the cursor
SELECT t.{id}::text AS id,
       (extract(epoch FROM CASE WHEN isfinite({created_at_utc}) THEN {created_at_utc} END) * 1000000)::bigint AS created_at_us
FROM {table} AS t
WHERE t.{id} = $5::{id_type} AND {within} AND ({where}) AND {lane_filter}
