-- Rows $3, which are at the times $4 behind the cursor of lane $2, go out as late rows, in this order.
INSERT INTO seriatim.aside (process_name, row_id, lane, position_at, key, state, late, due_at)
SELECT $1, r.id, $2::integer, r.at, there.key, 'due', true, clock_timestamp()
FROM unnest($3::text[], $4::timestamptz[]) WITH ORDINALITY AS r (id, at, place)
CROSS JOIN LATERAL (  -- of its own, for the key may name a column as r does
    SELECT ({key})::text AS key FROM {table} AS t WHERE t.{id} = r.id::{id_type}
) AS there
ORDER BY r.place
ON CONFLICT (process_name, row_id) DO NOTHING
