-- No process still has something to do with row t: it is not set aside, and no lane is at it. Of rows set aside
-- there may be as many as queue behind a key, and an index finds one. NOT IN where the list is short: it is hashed
-- once a statement, and NOT EXISTS read the cursors once a row.
NOT EXISTS (
    SELECT FROM seriatim.aside AS a
    WHERE a.process_name = ANY ({processes}::text[]) AND a.row_id = t.{id}::text)
AND t.{id}::text NOT IN (
    SELECT c.failed_id
    FROM seriatim.cursor AS c
    WHERE c.process_name = ANY ({processes}::text[]) AND c.failed_id IS NOT NULL)
