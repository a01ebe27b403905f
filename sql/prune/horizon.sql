-- The oldest buckets of process $1 go, if they end before $2 and before the first row of the process that is left,
-- whatever lane has it and also if it is aside. $3 so many ms below the cursors late rows are still delivered
WITH first AS (
    SELECT t.{created_at} AS at, t.{id} AS id
    FROM {table} AS t
    WHERE ({by_id} OR (t.{created_at} < '294247-01-01 UTC' AND isfinite(t.{created_at}))) AND ({where})
    ORDER BY {place}
    LIMIT 1
), gone AS (
    DELETE FROM seriatim.ledger AS l
    WHERE l.process_name = $1 AND l.to_at < $2::timestamptz
      AND l.to_at < (SELECT CASE WHEN bool_and(c.position_id IS NOT NULL) THEN min(least(c.position_at, CASE WHEN $3::bigint > 0 THEN c.looked_at END)) END
                     FROM seriatim.cursor AS c WHERE c.process_name = $1)
                    - $3::bigint * interval '1 millisecond'
      AND NOT EXISTS (SELECT FROM first AS f WHERE ({place:f.at,f.id}) <= ({place:l.to_at,l.to_id}))
    RETURNING l.lane, l.number, l.rows, l.to_at, l.to_id
), sums AS (
    SELECT g.lane, max(g.number) AS number,
           coalesce(sum(g.rows) FILTER (WHERE g.number > c.ledger_start), 0) AS rows,  -- deleted by others
           (array_agg(g.to_at ORDER BY g.number DESC))[1] AS at, (array_agg(g.to_id ORDER BY g.number DESC))[1] AS id
    FROM gone AS g LEFT JOIN seriatim.cursor AS c ON c.process_name = $1 AND c.lane = g.lane
    GROUP BY g.lane
), passed_over AS (
    DELETE FROM seriatim.passed_over AS p USING sums AS s
    WHERE p.process_name = $1 AND p.lane = s.lane AND ({place:p.to_at,p.to_id}) <= ({place:s.at,s.id})
)
INSERT INTO seriatim.horizon AS h (process_name, lane, rows, number, at, id)
SELECT $1, lane, rows, number, at, id FROM sums
ON CONFLICT (process_name, lane) DO UPDATE
    SET rows = h.rows + EXCLUDED.rows, number = EXCLUDED.number, at = EXCLUDED.at, id = EXCLUDED.id
