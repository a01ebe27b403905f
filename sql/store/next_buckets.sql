-- The closed buckets of lane $2 of $7, after number $3, without a gap between them, that still have their ids, of about $4 rows together; none
-- that reach to $6 (a moment; NULL: no bound).
WITH next AS (
    SELECT l.*, sum(l.rows) OVER (ORDER BY l.number) - l.rows AS rows_before,
           (from_at, from_id) IS DISTINCT FROM
               (lag(to_at) OVER (ORDER BY l.number), lag(to_id) OVER (ORDER BY l.number))
               AND row_number() OVER (ORDER BY l.number) > 1 AS gap_before
    FROM (SELECT number, from_at, from_id, to_at, to_id, rows
          FROM seriatim.ledger
          WHERE process_name = $1 AND lane = $2::integer AND ids IS NOT NULL
            AND number > $3::bigint AND lanes = $7::integer
            AND ($6::timestamptz IS NULL OR to_at < $6::timestamptz)
          ORDER BY number
          LIMIT $5::bigint) AS l
), taken AS (
    SELECT * FROM next
    WHERE rows_before < $4::bigint
      AND number < coalesce((SELECT min(number) FROM next WHERE gap_before), 9223372036854775807)
)
SELECT f.number AS first, t.number AS last, (SELECT sum(rows) FROM taken) AS rows,
       (extract(epoch FROM f.from_at) * 1000000)::bigint AS from_us, f.from_id,
       (extract(epoch FROM t.to_at) * 1000000)::bigint AS to_us, t.to_id
FROM (SELECT * FROM taken ORDER BY number LIMIT 1) AS f
CROSS JOIN (SELECT * FROM taken ORDER BY number DESC LIMIT 1) AS t
