-- The first row after the cursor $1, $2, settled or not, whatever is in it: is anything held back, or which row cannot
-- be read? In the order of created_at, rows stamped infinity, or beyond 64 bits of microseconds, are no one's future
-- (see unstamped_row.sql). $3 NULL, or at or after this moment
SELECT t.{id}::text AS id,
       CASE WHEN isfinite({created_at_utc}) THEN
           (extract(epoch FROM {created_at_utc}) * 1000000)::bigint END AS created_at_us
FROM {table} AS t
WHERE ($1::timestamptz IS NULL OR ({place}) > ({place:$1,$2}))
  AND ({by_id} OR t.{created_at} < '294247-01-01 UTC')
  AND ({by_id} OR $3::timestamptz IS NULL OR t.{created_at} >= $3::timestamptz)
  AND ({where}) AND {lane_filter}
ORDER BY {place}
LIMIT 1
