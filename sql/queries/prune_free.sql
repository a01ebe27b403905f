-- No process still has something to do with row t: it is not parked, not in a batch that was started,
-- and no lane stands at it. NOT IN, not NOT EXISTS: each list is hashed once a statement, where few rows
-- were expected NOT EXISTS read the tables once a row.
t.{id}::text NOT IN (
    SELECT p.row_id FROM seriatim.parked AS p WHERE p.process_name = ANY ({processes}::text[]))
AND t.{id}::text NOT IN (
    SELECT u.id
    FROM seriatim.cursor AS c CROSS JOIN unnest(c.planned_ids || c.failed_id) AS u (id)
    WHERE c.process_name = ANY ({processes}::text[]) AND u.id IS NOT NULL)
