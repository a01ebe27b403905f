-- As rows_between_by_created_at.sql, after $1 up to and with $2.
SELECT count(*)
FROM {table} AS t
WHERE ($1::bigint IS NULL OR t.{id} > $1::bigint) AND t.{id} <= $2::bigint
  AND ({where}) AND {lane_filter}
