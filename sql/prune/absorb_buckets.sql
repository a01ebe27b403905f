-- Buckets $3 to $4 of lane $2 make room for one that lists what is left of them (list_bucket.sql).
WITH absorbed AS (
    DELETE FROM seriatim.ledger
    WHERE process_name = $1 AND lane = $2::integer AND number BETWEEN $3::bigint AND $4::bigint
    RETURNING rows + pruned + coalesce(gone, 0) AS rows, newest_at
)
SELECT count(*) AS buckets, coalesce(sum(rows), 0)::bigint AS rows,
       CASE WHEN bool_and(newest_at IS NOT NULL) THEN max(newest_at) END::text AS newest_at
FROM absorbed
