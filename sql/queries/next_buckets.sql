-- The closed buckets after number $3 that still have their ids, of about $4 rows together; none
-- that reach to $6 (a moment; NULL: no bound).
WITH next AS (
    SELECT l.*, sum(l.rows) OVER (ORDER BY l.number) - l.rows AS rows_before
    FROM (SELECT number, from_at, from_id, to_at, to_id, rows
          FROM seriatim.ledger
          WHERE process_name = $1 AND lane = $2::integer AND ids IS NOT NULL
            AND number > $3::bigint
            AND ($6::timestamptz IS NULL OR to_at < $6::timestamptz)
          ORDER BY number
          LIMIT $5::bigint) AS l
), taken AS (
    SELECT * FROM next WHERE rows_before < $4::bigint
)
SELECT f.number AS first, t.number AS last, (SELECT sum(rows) FROM taken) AS rows,
       (extract(epoch FROM f.from_at) * 1000000)::bigint AS from_us, f.from_id,
       (extract(epoch FROM t.to_at) * 1000000)::bigint AS to_us, t.to_id
FROM (SELECT * FROM taken ORDER BY number LIMIT 1) AS f
CROSS JOIN (SELECT * FROM taken ORDER BY number DESC LIMIT 1) AS t
