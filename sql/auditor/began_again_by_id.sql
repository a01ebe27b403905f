-- Do ids represent other rows than those delivered under them? Then the last row of a bucket was created later than the
-- newest row that was delivered in it. The open bucket is compared, the newest closed ones since the lanes were cut into $5,
-- and the row of the cursor $3, $4 of the last comparison.
WITH buckets AS MATERIALIZED (
    -- Numbers already here: comparing them must stay cheaper than the filter, which may fail on rows outside a bucket.
    SELECT c.bucket_id::bigint AS after_id, c.position_id::bigint AS to_id, c.bucket_newest_at AS newest_at
    FROM seriatim.cursor AS c
    WHERE c.process_name = $1 AND c.lane = $2::integer AND c.position_id IS NOT NULL
    UNION ALL
    SELECT $4::bigint - 1, $4::bigint, $3::timestamptz WHERE $4::bigint IS NOT NULL
    UNION ALL
    SELECT l.from_id::bigint, l.to_id::bigint, l.newest_at
    FROM (SELECT n.*, bool_or(n.lanes <> $5::integer) OVER (ORDER BY n.number DESC) AS of_former_lanes
          FROM (SELECT number, lanes, from_id, to_id, newest_at FROM seriatim.ledger
                WHERE process_name = $1 AND lane = $2::integer
                ORDER BY number DESC LIMIT 8) AS n) AS l
    WHERE NOT l.of_former_lanes
)
SELECT last.id, last.created_at::text AS created_at, (b.newest_at AT TIME ZONE 'UTC')::text AS delivered_at
FROM buckets AS b
CROSS JOIN LATERAL (
    SELECT t.{id}::text AS id, {created_at_utc} AS created_at
    FROM {table} AS t
    WHERE t.{id} <= b.to_id AND (b.after_id IS NULL OR t.{id} > b.after_id)
      AND ({where}) AND {lane_filter}
    ORDER BY t.{id} DESC
    LIMIT 1
) AS last
WHERE last.created_at > b.newest_at AND isfinite(last.created_at)
LIMIT 1
