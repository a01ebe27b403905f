INSERT INTO seriatim.cursor (process_name, lane, lanes)
VALUES ($1, $2::integer, $3::integer)
ON CONFLICT DO NOTHING
