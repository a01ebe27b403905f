-- Row $3 was not parked, and is no longer in the table or no longer matches `where`: it does not go out. A late row
-- is journalled, because nothing else tells of it.
WITH gone AS (
    DELETE FROM seriatim.aside WHERE process_name = $1 AND row_id = $3 AND parked_at IS NULL RETURNING *
)
INSERT INTO seriatim.journal (process_name, lane, act, who, why, epoch, position_at, position_id, row_id)
SELECT c.process_name, c.lane, 'forget', coalesce(c.holder, '?'),
       'the late row is no longer in the table, or `where` leaves it out now', c.epoch, c.position_at, c.position_id,
       g.row_id
FROM gone AS g JOIN seriatim.cursor AS c ON c.process_name = $1 AND c.lane = $2::integer
WHERE g.late
