-- Rows $3, the newest of them of $4, are accounted for in the open bucket of lane $2.
UPDATE seriatim.cursor AS c
SET bucket_ids = c.bucket_ids || $3::text[],
    bucket_newest_at = CASE WHEN c.bucket_newest_at IS NOT NULL OR (c.bucket_ids = '{}' AND c.bucket_ranges = '{}')
                            THEN greatest(c.bucket_newest_at, $4::timestamptz) END
WHERE c.process_name = $1 AND c.lane = $2::integer AND $3::text[] <> '{}'
