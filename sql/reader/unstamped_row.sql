-- A row that has no place in the order, so it would wait for ever.
SELECT t.{id}::text AS id, coalesce(t.{created_at}::text, 'NULL') AS stamp
FROM {table} AS t
WHERE (t.{created_at} IS NULL OR t.{created_at} = '-infinity'
       OR t.{created_at} >= '294247-01-01 UTC')  -- infinity, or beyond 64 bits of microseconds
  AND ({where}) AND {lane_filter}
LIMIT 1
