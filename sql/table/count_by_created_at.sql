-- Rows waiting after the cursor, counted no further than $3.
SELECT count(*) FROM (
    SELECT FROM {table} AS t
    WHERE ($1::timestamptz IS NULL
           OR (t.{created_at}, t.{id}) > ($1::timestamptz, $2::{id_type}))
      AND t.{created_at} < '294247-01-01 UTC'
      AND ({where}) AND {lane_filter}
    LIMIT $3::bigint
) AS waiting
