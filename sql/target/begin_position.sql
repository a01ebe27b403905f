INSERT INTO seriatim_position (process_name, lane, sequence, epoch)
VALUES ($1, $2::integer, 0, 0)
ON CONFLICT DO NOTHING
