-- Rows waiting after the cursor $1, $2, counted no further than $3.
SELECT count(*) FROM (
    SELECT FROM {table} AS t
    WHERE ($1::timestamptz IS NULL OR ({place}) > ({place:$1,$2}))
      AND ({by_id} OR t.{created_at} < '294247-01-01 UTC')
      AND ({where}) AND {lane_filter}
    LIMIT $3::bigint
) AS waiting
