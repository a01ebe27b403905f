-- Rows waiting after the cursor, counted no further than $2.
SELECT count(*) FROM (
    SELECT FROM {table} AS t
    WHERE ($1::bigint IS NULL OR t.{id} > $1::bigint)
      AND ({where}) AND {lane_filter}
    LIMIT $2::bigint
) AS waiting
