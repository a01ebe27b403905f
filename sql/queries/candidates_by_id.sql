-- Ids of the rows after the cursor, settled or not.
SELECT t.{id}::text
FROM {table} AS t
WHERE ($1::bigint IS NULL OR t.{id} > $1::bigint)
  AND ($2::bigint IS NULL OR t.{id} >= $2::bigint)
  AND ({where}) AND {lane_filter}
ORDER BY t.{id}
LIMIT $3::bigint
