-- As rows_after_by_created_at.sql, in the order of an identity column.
-- $1 after this id  $2 at or after this one  $3 rows
SELECT t.{id}::text AS id,
       CASE WHEN isfinite({created_at_utc}) THEN
           (extract(epoch FROM {created_at_utc}) * 1000000)::bigint END AS created_at_us
FROM {table} AS t
WHERE ($1::bigint IS NULL OR t.{id} > $1::bigint)
  AND ($2::bigint IS NULL OR t.{id} >= $2::bigint)
ORDER BY t.{id}
LIMIT $3::bigint
