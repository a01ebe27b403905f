-- In the order of ids: if the last row of a bucket of lane $2 was created later than the newest row delivered there, its
-- time was changed, or ids began again (began_again_by_id.sql). Who sets the cursor behind it has decided that it counts as
-- delivered.
UPDATE seriatim.ledger AS l
SET newest_at = last.created_at
FROM seriatim.ledger AS b
CROSS JOIN LATERAL (
    SELECT {created_at_utc} AS created_at
    FROM {table} AS t
    WHERE t.{id} <= b.to_id::bigint AND (b.from_id IS NULL OR t.{id} > b.from_id::bigint)
      AND ({where})
      AND (b.lanes = 1 OR coalesce((hashtextextended(({key})::text, 0) % b.lanes + b.lanes) % b.lanes, 0) = $2::integer)
    ORDER BY t.{id} DESC
    LIMIT 1
) AS last
WHERE b.process_name = $1 AND b.lane = $2::integer AND last.created_at > b.newest_at AND isfinite(last.created_at)
  AND l.process_name = b.process_name AND l.lane = b.lane AND l.number = b.number
