-- Would the ledger have this row's id if the row had been delivered? Not if it is before the ledger began, or in a
-- sealed bucket. Below the horizon no delivered row was left.  $1 process  $2 lane  $3 the row
SELECT coalesce(({place}) <= ({place:h.at,h.id}), false) OR CASE WHEN b.number IS NULL
                THEN c.bucket_id IS NULL OR ({place:c.bucket_at,c.bucket_id}) < ({place})
            ELSE b.has_ids AND (b.from_id IS NULL OR ({place:b.from_at,b.from_id}) < ({place}))
       END AS audited
FROM {table} AS t
JOIN seriatim.cursor AS c ON c.process_name = $1 AND c.lane = $2::integer
LEFT JOIN seriatim.horizon AS h ON h.process_name = $1 AND h.lane = $2::integer
LEFT JOIN LATERAL (
    SELECT l.number, l.from_at, l.from_id, l.ids IS NOT NULL AS has_ids
    FROM seriatim.ledger AS l
    WHERE l.process_name = $1 AND l.lane = $2::integer
      AND ({by_id} OR l.to_at >= t.{created_at}) AND ({place:l.to_at,l.to_id}) >= ({place})
    ORDER BY CASE WHEN NOT {by_id} THEN l.to_at END, l.number
    LIMIT 1
) AS b ON true
WHERE t.{id} = $3::{id_type}
ORDER BY t.{created_at} DESC NULLS LAST
LIMIT 1
