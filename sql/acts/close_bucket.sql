-- The open bucket of lane $2 is closed at the place $3, $4: one without rows only if $5, and then the last one reaches up
-- to there instead, if nothing came since.
INSERT INTO seriatim.ledger
    (process_name, lane, lanes, number, from_at, from_id, to_at, to_id, rows, ids, ranges, newest_at)
SELECT process_name, lane, lanes, sequence, bucket_at, bucket_id, $3::timestamptz, $4::text,
       seriatim.ledger_rows(bucket_ids, bucket_ranges), bucket_ids, nullif(bucket_ranges, '{}'), bucket_newest_at
FROM seriatim.cursor
WHERE process_name = $1 AND lane = $2::integer AND ($5::boolean OR bucket_ids <> '{}' OR bucket_ranges <> '{}')
ON CONFLICT (process_name, lane, number) DO UPDATE
    SET to_at = EXCLUDED.to_at, to_id = EXCLUDED.to_id
    WHERE ledger.lanes = EXCLUDED.lanes
      AND (ledger.to_at, ledger.to_id) IS NOT DISTINCT FROM (EXCLUDED.from_at, EXCLUDED.from_id)
