-- Ids of the rows in a range, settled or not.
-- $1 from  $2 to
SELECT t.{id}::text
FROM {table} AS t
WHERE t.{id} BETWEEN $1::bigint AND $2::bigint
  AND ({where}) AND {lane_filter}
ORDER BY t.{id}
LIMIT {rows_max}
