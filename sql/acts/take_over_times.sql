-- In the order of ids: if the last row of a bucket of lane $2 was created later than the newest row delivered there, its
-- time was changed, or ids began again (began_again_by_id.sql). Who sets the cursor to $3 has decided that the rows up to
-- there count as delivered. Answers how many of them are newer. Rows are counted in such buckets alone.
WITH buckets AS MATERIALIZED (  -- numbers, for the reason that is given there
    SELECT number, lanes, from_id::bigint AS after_id, to_id::bigint AS to_id, newest_at
    FROM seriatim.ledger
    WHERE process_name = $1 AND lane = $2::integer
    UNION ALL
    SELECT NULL, lanes, bucket_id::bigint, least(position_id::bigint, $3::bigint), bucket_newest_at
    FROM seriatim.cursor
    WHERE process_name = $1 AND lane = $2::integer AND position_id IS NOT NULL
), touched AS MATERIALIZED (
    SELECT b.*
    FROM buckets AS b
    CROSS JOIN LATERAL (
        SELECT {created_at_utc} AS created_at
        FROM {table} AS t
        WHERE t.{id} <= b.to_id AND (b.after_id IS NULL OR t.{id} > b.after_id)
          AND ({where})
          AND (b.lanes = 1 OR coalesce((hashtextextended(({key})::text, 0) % b.lanes + b.lanes) % b.lanes, 0) = $2::integer)
        ORDER BY t.{id} DESC
        LIMIT 1
    ) AS last
    WHERE last.created_at > b.newest_at AND isfinite(last.created_at)
), newer AS (
    SELECT b.number, now_there.*
    FROM touched AS b
    CROSS JOIN LATERAL (
        SELECT count(*) AS rows, max({created_at_utc}) FILTER (WHERE isfinite({created_at_utc})) AS newest_at
        FROM {table} AS t
        WHERE t.{id} <= b.to_id AND (b.after_id IS NULL OR t.{id} > b.after_id)
          AND {created_at_utc} > b.newest_at
          AND ({where})
          AND (b.lanes = 1 OR coalesce((hashtextextended(({key})::text, 0) % b.lanes + b.lanes) % b.lanes, 0) = $2::integer)
    ) AS now_there
), updated AS (
    UPDATE seriatim.ledger AS l
    SET newest_at = n.newest_at
    FROM newer AS n
    WHERE l.process_name = $1 AND l.lane = $2::integer AND l.number = n.number
)
SELECT coalesce(sum(rows), 0) FROM newer
