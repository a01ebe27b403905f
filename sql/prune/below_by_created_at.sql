-- Row t lies strictly below every cursor of a process and, where it delivers late rows, before the
-- window that is searched for them; false, not NULL, where a cursor is before the first row. The cursors
-- are read once a statement, not once a row: 16 pages for 200 rows where it was 806 (PostgreSQL 15).
(SELECT coalesce(count(*) >= max(c.lanes), false) FROM seriatim.cursor AS c WHERE c.process_name = {process})  -- each lane has one
AND coalesce((t.{created_at}, t.{id})
    < ALL (SELECT c.position_at, c.position_id::{id_type} FROM seriatim.cursor AS c
           WHERE c.process_name = {process}
           ORDER BY c.position_at NULLS FIRST FETCH FIRST 1 ROW WITH TIES), false)
AND ({lookback} = 0
     OR coalesce(t.{created_at} < (SELECT min(least(c.position_at, c.looked_at)) FROM seriatim.cursor AS c
                                   WHERE c.process_name = {process})
                                  - {lookback} * interval '1 millisecond', false))
