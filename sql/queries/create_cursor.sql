-- A process that begins again has no use for what an earlier one of its name has noted.
WITH created AS (
    INSERT INTO seriatim.cursor (process_name, lane, lanes)
    VALUES ($1, $2::integer, $3::integer)
    ON CONFLICT DO NOTHING
    RETURNING process_name, lane
)
DELETE FROM seriatim.ledger AS l
USING created AS c
WHERE l.process_name = c.process_name AND l.lane = c.lane
