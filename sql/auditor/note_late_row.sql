-- Row $2 halted lane $3 as late, and is aside until `retry`, `skip` or a rewind.
INSERT INTO seriatim.aside (process_name, row_id, lane, state)
VALUES ($1, $2, $3::integer, 'late')
ON CONFLICT (process_name, row_id) DO NOTHING
