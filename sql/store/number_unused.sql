-- Row `gone` of a begun batch had the number after the cursor's, and goes out no more. In place of a delivery. Rows
-- that hold their key are put back together, so that the numbers of all of them stay unused. With several calls in
-- flight column ahead has the numbers, and the lane sees to them.
counted AS (
    UPDATE seriatim.cursor AS c
    SET sequence = c.sequence + n.numbers, set_aside = c.set_aside + n.numbers, redriven = c.redriven + n.numbers,
        attempts = 0, crashes = 0
    FROM held AS h, gone AS g,
         LATERAL (SELECT CASE WHEN g.holds_key THEN h.handed_to - h.sequence ELSE 1 END AS numbers) AS n
    WHERE c.process_name = h.process_name AND c.lane = h.lane AND g.begun AND h.handed_to > h.sequence AND h.ahead IS NULL
    RETURNING 1
)
