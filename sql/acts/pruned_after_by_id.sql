-- As pruned_after_by_created_at.sql. $3 the place; NULL: before the first row
SELECT coalesce(sum(l.pruned_rows), 0)::bigint
FROM seriatim.ledger AS l
WHERE l.process_name = $1 AND l.lane = $2::integer AND l.pruned_rows > 0
  AND ($3::bigint IS NULL OR l.to_id::bigint > $3::bigint)
