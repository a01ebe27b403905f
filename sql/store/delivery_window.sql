-- late_rows = 'deliver': what of the last batch started is still to go out, where late rows are looked
-- for, and from which bucket on ids are needed for that.
-- $3 the cursor's time at the last complete look, as the session knows it: past the cursor where that
-- was taken back since  $4 the cursor's time; NULL: before the first row, only the plan is looked at
-- $5 lookback in ms
SELECT to_json(c.planned_ids)::text AS planned_ids, c.sequence,
       (extract(epoch FROM w.looked_at) * 1000000)::bigint AS looked_us,
       (extract(epoch FROM w.start) * 1000000)::bigint AS start_us,
       1 + coalesce((SELECT max(l.number) FROM seriatim.ledger AS l
                     WHERE l.process_name = $1 AND l.lane = $2::integer
                       AND (l.to_at < w.start OR l.ids IS NULL OR l.gone IS NOT NULL)), 0) AS first,
       (extract(epoch FROM noted.at) * 1000000)::bigint AS noted_us, noted.id AS noted_id
FROM seriatim.cursor AS c
CROSS JOIN LATERAL (
    SELECT l.at AS looked_at, l.at - $5::bigint * interval '1 millisecond' AS start
    FROM (SELECT least(greatest(c.looked_at, $3::timestamptz), $4::timestamptz) AS at) AS l
) AS w
LEFT JOIN LATERAL (  -- before this nothing is known by id, or a prune has passed
    SELECT from_at, from_id, true AS closed
    FROM seriatim.ledger
    WHERE process_name = $1 AND lane = $2::integer AND ids IS NOT NULL AND gone IS NULL
    ORDER BY number LIMIT 1
) AS oldest ON true
CROSS JOIN LATERAL (
    SELECT CASE WHEN oldest.closed THEN oldest.from_at ELSE c.bucket_at END AS at,
           CASE WHEN oldest.closed THEN oldest.from_id ELSE c.bucket_id END AS id
) AS noted
WHERE c.process_name = $1 AND c.lane = $2::integer
