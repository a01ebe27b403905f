-- The rows of a partition leave the ledger, as those that rows.sql deletes.
-- $1 processes  $2 lanes  $3 numbers of buckets  $4 rows  $5 hashes
WITH sums AS (
    SELECT * FROM unnest($1::text[], $2::integer[], $3::bigint[], $4::bigint[], $5::bigint[])
             AS s (process, lane, number, rows, hash)
), {leave_ledger}
SELECT count(*) FROM counted
