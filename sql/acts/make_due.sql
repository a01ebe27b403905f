-- Rows $3, which stand at the times $4 behind the cursor of lane $2, go out as late rows, in this order.
INSERT INTO seriatim.aside (process_name, row_id, lane, position_at, key, state, late, due_at)
SELECT $1, r.id, $2::integer, r.at, ({key})::text, 'due', true, clock_timestamp()
FROM unnest($3::text[], $4::timestamptz[]) WITH ORDINALITY AS r (id, at, place)
JOIN {table} AS t ON t.{id} = r.id::{id_type}
ORDER BY r.place
ON CONFLICT (process_name, row_id) DO NOTHING
