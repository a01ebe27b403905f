-- The newest closed buckets with their ids, back from $3 (a moment; NULL: the cursor), of about $4
-- rows together; their range begins where the first of them does, or the open bucket where there is none.
-- None of before the lanes were cut into $6, the last time, and none that a prune has passed: sealed ones may lie between.
WITH newest AS (
    SELECT l.number, l.from_at, l.from_id, l.rows,
           sum(l.rows) OVER (ORDER BY l.number DESC) - l.rows AS rows_after,
           bool_or(l.lanes <> $6::integer) OVER (ORDER BY l.number DESC) AS of_another_cut
    FROM (SELECT number, lanes, from_at, from_id, rows
          FROM seriatim.ledger
          WHERE process_name = $1 AND lane = $2::integer AND ids IS NOT NULL
            AND gone IS NULL AND number > (SELECT ledger_start FROM seriatim.cursor
                          WHERE process_name = $1 AND lane = $2::integer)
            AND ($3::timestamptz IS NULL OR from_at IS NULL OR from_at < $3::timestamptz)
          ORDER BY number DESC
          LIMIT $5::bigint) AS l
), taken AS (
    SELECT * FROM newest WHERE rows_after < $4::bigint AND NOT of_another_cut
), first AS (
    SELECT * FROM taken ORDER BY number LIMIT 1
)
SELECT coalesce(f.number, 0) AS first, coalesce((SELECT max(number) FROM taken), 0) AS last,
       coalesce((SELECT sum(rows) FROM taken), 0) + seriatim.ledger_rows(c.bucket_ids, c.bucket_ranges) AS rows,
       (extract(epoch FROM CASE WHEN f.number IS NULL THEN c.bucket_at ELSE f.from_at END)
           * 1000000)::bigint AS from_us,
       CASE WHEN f.number IS NULL THEN c.bucket_id ELSE f.from_id END AS from_id,
       NULL::bigint AS to_us, NULL AS to_id
FROM seriatim.cursor AS c LEFT JOIN first AS f ON true
WHERE c.process_name = $1 AND c.lane = $2::integer
