-- The first row after the cursor, settled or not, whatever is in it.
SELECT t.{id}::text AS id,
       CASE WHEN isfinite({created_at_utc}) THEN
           (extract(epoch FROM {created_at_utc}) * 1000000)::bigint END AS created_at_us
FROM {table} AS t
WHERE ($1::bigint IS NULL OR t.{id} > $1::bigint)
  AND ({where}) AND {lane_filter}
ORDER BY t.{id}
LIMIT 1
