-- No process still has something to do with row t: it is not parked, not in a batch that was started,
-- and no lane stands at it. NOT IN where the list is short: it is hashed once a statement, and NOT EXISTS read
-- the cursors once a row. Of parked rows there may be as many as queue behind a key, and an index finds one.
NOT EXISTS (
    SELECT FROM seriatim.parked AS p
    WHERE p.process_name = ANY ({processes}::text[]) AND p.row_id = t.{id}::text)
AND t.{id}::text NOT IN (
    SELECT u.id
    FROM seriatim.cursor AS c CROSS JOIN unnest(c.planned_ids || c.failed_id) AS u (id)
    WHERE c.process_name = ANY ({processes}::text[]) AND u.id IS NOT NULL)
