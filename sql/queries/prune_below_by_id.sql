-- Row t lies strictly below every cursor of a process.
(SELECT coalesce(count(*) >= max(c.lanes), false) FROM seriatim.cursor AS c WHERE c.process_name = {process})  -- each lane has one
AND NOT EXISTS (
    SELECT FROM seriatim.cursor AS c
    WHERE c.process_name = {process}
      AND (c.position_id IS NULL OR t.{id} >= c.position_id::bigint))
