-- The last row of a lane before a place in the order: where a cursor is that goes on from there.
-- $1, $2 the place; $2 NULL: the first row of that time; $1 NULL: behind the last row
SELECT t.{id}::text AS id,
       CASE WHEN isfinite({created_at_utc}) THEN
           (extract(epoch FROM {created_at_utc}) * 1000000)::bigint END AS created_at_us
FROM {table} AS t
WHERE ($1::timestamptz IS NULL
       OR CASE WHEN {by_id} THEN t.{id} < $2::{id_type}
          ELSE t.{created_at} <= $1::timestamptz
               AND (t.{created_at} < $1::timestamptz OR t.{id} < $2::{id_type}) END)
  AND ({by_id} OR (t.{created_at} < '294247-01-01 UTC' AND isfinite(t.{created_at})))
  AND ({where}) AND {lane_filter}
ORDER BY CASE WHEN NOT {by_id} THEN t.{created_at} END DESC, t.{id} DESC
LIMIT 1
