-- In the order of ids: if the last row of a bucket of lane $2 was created later than the newest row delivered there, its
-- time was changed, or ids began again (began_again_by_id.sql). Who sets the cursor behind it has decided that it counts as
-- delivered.
WITH buckets AS MATERIALIZED (  -- numbers, for the reason that is given there
    SELECT number, lanes, from_id::bigint AS after_id, to_id::bigint AS to_id, newest_at
    FROM seriatim.ledger
    WHERE process_name = $1 AND lane = $2::integer
)
UPDATE seriatim.ledger AS l
SET newest_at = last.created_at
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
WHERE l.process_name = $1 AND l.lane = $2::integer AND l.number = b.number
  AND last.created_at > b.newest_at AND isfinite(last.created_at)
