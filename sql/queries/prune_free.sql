-- No process still has something to do with row t: it is not parked, not in a batch that was started,
-- and no lane stands at it.
NOT EXISTS (
    SELECT FROM seriatim.parked AS p
    WHERE p.process_name = ANY ({processes}::text[]) AND p.row_id = t.{id}::text)
AND NOT EXISTS (
    SELECT FROM seriatim.cursor AS c
    WHERE c.process_name = ANY ({processes}::text[])
      AND (c.failed_id = t.{id}::text OR t.{id}::text = ANY (c.planned_ids)))
