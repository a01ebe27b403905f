-- The row $3, if it is this lane's and is behind the cursor $1 $2.
SELECT t.{id}::text AS id,
       (extract(epoch FROM CASE WHEN isfinite({created_at_utc}) THEN {created_at_utc} END) * 1000000)::bigint AS created_at_us
FROM {table} AS t
WHERE t.{id} = $3::{id_type}
  AND ($1::timestamptz IS NULL OR ({place}) <= ({place:$1,$2}))
  AND ({by_id} OR isfinite({created_at_utc}))
  AND ({where}) AND {lane_filter}
