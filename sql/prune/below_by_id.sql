-- Row t lies strictly below every cursor of a process; see below_by_created_at.sql.
(SELECT coalesce(count(*) >= max(c.lanes), false) FROM seriatim.cursor AS c WHERE c.process_name = {process})  -- each lane has one
AND coalesce(t.{id} < (SELECT c.position_id::bigint FROM seriatim.cursor AS c
                       WHERE c.process_name = {process}
                       ORDER BY c.position_id::bigint NULLS FIRST LIMIT 1), false)
