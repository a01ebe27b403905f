-- What of the last batch started is still to go out, and the parked row of lane $2 of $3 that an
-- operator wants handed over again next: one that was started before any other.
SELECT to_json(c.planned_ids)::text AS planned_ids, c.sequence, c.handed_to, due.row_id
FROM seriatim.cursor AS c
LEFT JOIN LATERAL (
    SELECT p.row_id
    FROM seriatim.parked AS p
    WHERE p.process_name = c.process_name AND p.redrive_at IS NOT NULL
      AND (p.key_hash % $3::bigint + $3::bigint) % $3::bigint = c.lane  -- as lane_filter.sql
    ORDER BY p.row_id = ANY (c.planned_ids) DESC, p.number
    LIMIT 1
) AS due ON true
WHERE c.process_name = $1 AND c.lane = $2::integer
