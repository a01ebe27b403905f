-- The next rows in order that may be older than $3. The range: $1, $2 after this place, $3 up to this moment, $4 NULL
-- $5 rows
SELECT t.{id}::text AS id,
       CASE WHEN isfinite({created_at_utc}) THEN
           (extract(epoch FROM {created_at_utc}) * 1000000)::bigint END AS created_at_us,
       ({below}) AS below, ({free}) AS free, ({delivered}) AS delivered,
       coalesce(isfinite({created_at_utc}) AND {created_at_utc} < $3::timestamptz, false) AS old
FROM {table} AS t
WHERE {within}
ORDER BY {place}
LIMIT $5::bigint
