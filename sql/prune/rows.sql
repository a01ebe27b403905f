-- Deletes those of the rows $1, created from $2 to $3, that may still go, and takes them out of the buckets
-- that count them.
-- $4 to $7 of each note: the row's id, process, lane, number
WITH gone AS (
    DELETE FROM {table} AS t
    WHERE t.{id} = ANY ($1::{id_type}[]) AND t.{created_at} BETWEEN $2::timestamptz AND $3::timestamptz
      AND ({below}) AND ({free})
    RETURNING t.{id}::text AS id
), sums AS (
    SELECT n.process, n.lane, n.number, count(*) AS rows,
           bit_xor(hashtextextended(n.id, 0)) AS hash
    FROM unnest($4::text[], $5::text[], $6::integer[], $7::bigint[]) AS n (id, process, lane, number)
    JOIN gone AS g ON g.id = n.id
    GROUP BY n.process, n.lane, n.number
), {leave_ledger}
SELECT count(*) FROM gone
