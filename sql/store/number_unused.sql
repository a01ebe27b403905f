-- Row `gone` of a begun batch had the number after the cursor's, and goes out no more. In place of a delivery.
counted AS (
    UPDATE seriatim.cursor AS c
    SET sequence = c.sequence + 1, set_aside = c.set_aside + 1, redriven = c.redriven + 1, attempts = 0, crashes = 0
    FROM held AS h, gone AS g
    WHERE c.process_name = h.process_name AND c.lane = h.lane AND g.begun AND h.handed_to > h.sequence
    RETURNING 1
)
