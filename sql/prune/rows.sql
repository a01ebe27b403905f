-- Deletes those of the rows $1, created from $2 to $3, that may still go, and notes them in the buckets
-- that count them. A bucket that was merged meanwhile is in the next one there is.
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
), buckets AS (
    SELECT s.process, s.lane, b.number, sum(s.rows) AS rows, bit_xor(s.hash) AS hash
    FROM sums AS s
    CROSS JOIN LATERAL (
        SELECT min(l.number) AS number FROM seriatim.ledger AS l
        WHERE l.process_name = s.process AND l.lane = s.lane AND l.number >= s.number
    ) AS b
    GROUP BY s.process, s.lane, b.number
), noted AS (
    UPDATE seriatim.ledger AS l
    SET pruned_rows = l.pruned_rows + b.rows, pruned_hash = l.pruned_hash # b.hash
    FROM buckets AS b
    WHERE l.process_name = b.process AND l.lane = b.lane AND l.number = b.number
)
SELECT count(*) FROM gone
