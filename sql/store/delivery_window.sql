-- late_rows = 'deliver': where late rows are searched for, and from which bucket on ids are needed for that.
-- Only the row says where that begins: rows before it are the audit's, which reads the same column.
-- $3 the cursor's time  $4 lookback in ms  $5 not before this; NULL: no such bound
SELECT (extract(epoch FROM w.looked_at) * 1000000)::bigint AS looked_us,
       (extract(epoch FROM w.start) * 1000000)::bigint AS start_us,
       1 + coalesce((SELECT max(l.number) FROM seriatim.ledger AS l
                     WHERE l.process_name = $1 AND l.lane = $2::integer
                       AND (l.to_at < w.start OR l.ids IS NULL)), 0) AS first,
       (extract(epoch FROM noted.at) * 1000000)::bigint AS noted_us, noted.id AS noted_id
FROM seriatim.cursor AS c
CROSS JOIN LATERAL (
    SELECT l.at AS looked_at, greatest(l.at - $4::bigint * interval '1 millisecond', $5::timestamptz) AS start
    FROM (SELECT least(c.looked_at, $3::timestamptz) AS at) AS l
) AS w
LEFT JOIN LATERAL (  -- before this nothing is known by id
    SELECT from_at, from_id, true AS closed
    FROM seriatim.ledger
    WHERE process_name = $1 AND lane = $2::integer AND ids IS NOT NULL
    ORDER BY number LIMIT 1
) AS oldest ON true
CROSS JOIN LATERAL (
    SELECT CASE WHEN oldest.closed THEN oldest.from_at ELSE c.bucket_at END AS at,
           CASE WHEN oldest.closed THEN oldest.from_id ELSE c.bucket_id END AS id
) AS noted
WHERE c.process_name = $1 AND c.lane = $2::integer
