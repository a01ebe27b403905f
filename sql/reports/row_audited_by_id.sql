-- As row_audited_by_created_at.sql, in the order of an identity column.
SELECT CASE WHEN b.number IS NULL THEN c.bucket_id IS NULL OR c.bucket_id::bigint < $3::bigint
            ELSE b.has_ids AND (b.from_id IS NULL OR b.from_id::bigint < $3::bigint)
       END AS audited
FROM seriatim.cursor AS c
LEFT JOIN LATERAL (
    SELECT l.number, l.from_id, l.ids IS NOT NULL AS has_ids
    FROM seriatim.ledger AS l
    WHERE l.process_name = $1 AND l.lane = $2::integer AND l.to_id::bigint >= $3::bigint
    ORDER BY l.number
    LIMIT 1
) AS b ON true
WHERE c.process_name = $1 AND c.lane = $2::integer
