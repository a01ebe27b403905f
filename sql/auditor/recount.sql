-- The buckets of lane $2, the open one last: what each says should be in its range, and what is there now.
-- Rows are the lane's as the lanes were cut then.
-- $3 after this bucket  $4 buckets  $5, $6 only those that begin before this place; NULL: all
-- $7 only those a prune has come to
SELECT b.number, b.lanes, b.rows, b.hash, b.pruned, b.gone, b.sealed, b.open,
       (extract(epoch FROM b.from_at) * 1000000)::bigint AS from_us, b.from_id,
       (extract(epoch FROM b.to_at) * 1000000)::bigint AS to_us, b.to_id,
       $6::text IS NOT NULL AND {ends_by_then} AS whole,
       now_there.rows AS rows_there, now_there.hash AS hash_there
FROM (
    SELECT l.number, l.lanes, l.rows, coalesce(l.hash, seriatim.ledger_hash(l.ids, l.ranges)) AS hash,
           l.pruned, l.gone, l.ids IS NULL AS sealed, false AS open,
           l.from_at, l.from_id, l.to_at, l.to_id
    FROM seriatim.ledger AS l
    WHERE l.process_name = $1 AND l.lane = $2::integer
    UNION ALL
    SELECT 9223372036854775807, c.lanes, seriatim.ledger_rows(c.bucket_ids, c.bucket_ranges),
           seriatim.ledger_hash(c.bucket_ids, c.bucket_ranges),
           0, NULL, false, true, c.bucket_at, c.bucket_id, c.position_at, c.position_id
    FROM seriatim.cursor AS c
    WHERE c.process_name = $1 AND c.lane = $2::integer AND c.position_id IS NOT NULL
) AS b
CROSS JOIN LATERAL (
    SELECT count(*) AS rows, coalesce(bit_xor(hashtextextended(t.{id}::text, 0)), 0) AS hash
    FROM {table} AS t
    WHERE {within}
      AND ({where})
      AND (b.lanes = 1 OR coalesce((hashtextextended(({key})::text, 0) % b.lanes + b.lanes) % b.lanes, 0) = $2::integer)
) AS now_there
WHERE b.number > $3::bigint
  AND ($6::text IS NULL OR b.from_id IS NULL OR NOT {begins_after})
  AND (NOT $7::boolean OR b.gone IS NOT NULL OR b.pruned > 0)
ORDER BY b.number
LIMIT $4::bigint
