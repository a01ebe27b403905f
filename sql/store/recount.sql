-- The buckets of lane $2, the open one last: what is noted in each, and what is in its range now.
-- Rows are the lane's as the lanes were cut then.
-- The plain comparisons of one column are what the index is entered by.
-- `refilled`: in the order of ids, rows created after the newest that was delivered there, if the last row there is one.
-- Ids began again, so these represent other rows. A row whose time alone was changed is hardly ever the last one.
-- $3 after this bucket  $4 buckets
SELECT b.number, b.lanes, b.rows, b.hash, b.sealed, b.open,
       (extract(epoch FROM b.from_at) * 1000000)::bigint AS from_us, b.from_id,
       (extract(epoch FROM b.to_at) * 1000000)::bigint AS to_us, b.to_id,
       now_there.rows AS rows_there, now_there.hash AS hash_there, now_there.refilled,
       CASE WHEN now_there.refilled > 0 THEN now_there.first_refilled END AS first_refilled
FROM (
    SELECT l.number, l.lanes, l.rows, coalesce(l.hash, seriatim.ledger_hash(l.ids, l.ranges)) AS hash,
           l.ids IS NULL AS sealed, false AS open,
           l.from_at, l.from_id, l.to_at, l.to_id, l.newest_at
    FROM seriatim.ledger AS l
    WHERE l.process_name = $1 AND l.lane = $2::integer
    UNION ALL
    SELECT 9223372036854775807, c.lanes, seriatim.ledger_rows(c.bucket_ids, c.bucket_ranges),
           seriatim.ledger_hash(c.bucket_ids, c.bucket_ranges),
           false, true, c.bucket_at, c.bucket_id, c.position_at, c.position_id, c.bucket_newest_at
    FROM seriatim.cursor AS c
    WHERE c.process_name = $1 AND c.lane = $2::integer AND c.position_id IS NOT NULL
) AS b
CROSS JOIN LATERAL (
    SELECT count(*) AS rows, coalesce(bit_xor(hashtextextended(t.{id}::text, 0)), 0) AS hash,
           CASE WHEN max({lead}) FILTER (WHERE {by_id} AND {created_at_utc} > b.newest_at) = max({lead}) FILTER (WHERE {by_id})
                THEN count(*) FILTER (WHERE {by_id} AND {created_at_utc} > b.newest_at) ELSE 0 END AS refilled,
           (min({lead}) FILTER (WHERE {by_id} AND {created_at_utc} > b.newest_at))::text AS first_refilled
    FROM {table} AS t
    WHERE {lead} >= coalesce({lead:b.from_at,b.from_id}, {lead_min}) AND {lead} <= {lead:b.to_at,b.to_id}
      AND (b.from_id IS NULL OR ({place}) > ({place:b.from_at,b.from_id}))
      AND ({place}) <= ({place:b.to_at,b.to_id})
      AND ({by_id} OR isfinite({created_at_utc}))
      AND ({where})
      AND (b.lanes = 1 OR coalesce((hashtextextended(({key})::text, 0) % b.lanes + b.lanes) % b.lanes, 0) = $2::integer)
) AS now_there
WHERE b.number > $3::bigint
ORDER BY b.number
LIMIT $4::bigint
