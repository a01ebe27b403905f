-- Row $4 was not parked, and does not go out from here: it is gone, `where` leaves it out now, or it was given a new
-- place and goes out there. A late row is journalled, because nothing else reports it. A number under which a
-- receiver may have seen it stays unused, so that rows behind it keep theirs. Nothing, unless the cursor's row is of
-- epoch $3.
WITH held AS (
    SELECT c.* FROM seriatim.cursor AS c
    WHERE c.process_name = $1 AND c.lane = $2::integer AND c.epoch = $3::bigint
    FOR UPDATE
), gone AS (
    DELETE FROM seriatim.aside AS a USING held
    WHERE a.process_name = held.process_name AND a.row_id = $4 AND a.parked_at IS NULL
    RETURNING a.row_id, a.late, a.begun, false AS holds_key
), {counted}, journalled AS (
    INSERT INTO seriatim.journal (process_name, lane, act, who, why, epoch, position_at, position_id, row_id)
    SELECT h.process_name, h.lane, 'forget', coalesce(h.holder, '?'),
           'the late row is gone, `where` leaves it out now, or it was given a new place', h.epoch, h.position_at,
           h.position_id, g.row_id
    FROM gone AS g, held AS h
    WHERE g.late
)
SELECT EXISTS (SELECT FROM counted) AS counted FROM held
