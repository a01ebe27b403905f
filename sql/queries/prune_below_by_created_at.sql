-- Row t lies strictly below every cursor of a process and, where it delivers late rows, before the
-- window they are looked for in.
(SELECT coalesce(count(*) >= max(c.lanes), false) FROM seriatim.cursor AS c WHERE c.process_name = {process})  -- each lane has one
AND NOT EXISTS (
    SELECT FROM seriatim.cursor AS c
    WHERE c.process_name = {process}
      AND (c.position_id IS NULL
           OR (t.{created_at}, t.{id}) >= (c.position_at, c.position_id::{id_type})
           OR ({lookback} > 0
               AND t.{created_at} >= least(c.position_at, c.looked_at)
                                     - {lookback} * interval '1 millisecond')))
