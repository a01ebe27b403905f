-- Held until the rows are committed, so that a holder that was replaced waits and then sees itself late.
SELECT sequence, id, epoch
FROM seriatim_position
WHERE process_name = $1 AND lane = $2::integer
FOR UPDATE
