-- Where the ledger of lane $2 begins: the position and the sequence before it; and what left it, with its
-- horizon.
SELECT c.ledger_start, c.redriven,
       (SELECT count(*) FROM seriatim.parked AS p
        WHERE p.process_name = $1 AND p.lane = $2::integer) AS parked,
       (SELECT count(*) FROM seriatim.aside AS a
        WHERE a.process_name = $1 AND a.lane = $2::integer AND a.state = 'due' AND a.parked_at IS NULL) AS due,
       (SELECT coalesce(sum(seriatim.ledger_rows(p.ids, p.ranges)), 0) FROM seriatim.passed_over AS p
        WHERE p.process_name = $1 AND p.lane = $2::integer) AS passed_over,
       (extract(epoch FROM coalesce(l.from_at, o.at)) * 1000000)::bigint AS from_us,
       coalesce(l.from_id, o.id) AS from_id,
       coalesce(h.rows, 0) AS pruned, (extract(epoch FROM h.at) * 1000000)::bigint AS horizon_us, h.id AS horizon_id,
       has_table_privilege('seriatim.journal', 'SELECT') AS may_read_journal
FROM seriatim.cursor AS c
LEFT JOIN LATERAL (
    SELECT from_at, from_id, true AS closed
    FROM seriatim.ledger
    WHERE process_name = $1 AND lane = $2::integer
    ORDER BY number LIMIT 1
) AS l ON true
LEFT JOIN seriatim.horizon AS h ON h.process_name = c.process_name AND h.lane = c.lane
CROSS JOIN LATERAL (
    SELECT CASE WHEN l.closed THEN NULL ELSE c.bucket_at END AS at,
           CASE WHEN l.closed THEN NULL ELSE c.bucket_id END AS id
) AS o
WHERE c.process_name = $1 AND c.lane = $2::integer
