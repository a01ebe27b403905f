-- A batch that was begun, and what halted a lane as late; late rows of the batch still go out first.
-- $1 process  $2 lane, NULL: all
DELETE FROM seriatim.aside AS a
WHERE a.process_name = $1 AND ($2::integer IS NULL OR a.lane = $2::integer)
  AND a.parked_at IS NULL AND a.late IS NOT TRUE
