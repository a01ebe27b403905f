planned_ids = c.planned_ids[coalesce(array_position(c.planned_ids, $16::text), 0) + 1:],
    redriven = c.redriven + $17::bigint,
