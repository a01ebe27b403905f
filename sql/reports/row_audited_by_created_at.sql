-- Does the ledger keep the ids of what was delivered around this row, so that its absence tells? Not
-- before the ledger began, and not where a bucket was sealed. $1 process  $2 lane  $3 the row
SELECT CASE WHEN b.number IS NULL
                THEN c.bucket_at IS NULL
                     OR (c.bucket_at, c.bucket_id::{id_type}) < (r.{created_at}, r.{id})
            ELSE b.has_ids AND (b.from_at IS NULL
                     OR (b.from_at, b.from_id::{id_type}) < (r.{created_at}, r.{id}))
       END AS audited
FROM {table} AS r
JOIN seriatim.cursor AS c ON c.process_name = $1 AND c.lane = $2::integer
LEFT JOIN LATERAL (
    SELECT l.number, l.from_at, l.from_id, l.ids IS NOT NULL AS has_ids
    FROM seriatim.ledger AS l
    WHERE l.process_name = $1 AND l.lane = $2::integer AND l.to_at >= r.{created_at}
      AND (l.to_at, l.to_id::{id_type}) >= (r.{created_at}, r.{id})
    ORDER BY l.to_at, l.number
    LIMIT 1
) AS b ON true
WHERE r.{id} = $3::{id_type}
ORDER BY r.{created_at} DESC NULLS LAST
LIMIT 1
