-- Cursors on table oid $1 whose process is none of $2 and which nobody holds: what a renamed process
-- leaves behind.
SELECT c.process_name, max(c.position_id) FILTER (WHERE c.lane = 0) AS position_id,
       to_char(max(c.updated_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS"Z"') AS updated_at
FROM seriatim.cursor AS c
JOIN seriatim.lanes AS l ON l.process_name = c.process_name AND l.lane = c.lane
WHERE c.renamed_to IS NULL
  AND c.identity ->> 'table_oid' = $1 AND c.process_name <> ALL ($2::text[])
GROUP BY c.process_name
HAVING bool_and(l.holder IS NULL)
ORDER BY max(c.updated_at) DESC
LIMIT 10
