-- The start of a batch that goes out from seriatim.aside. Its rows are begun; those that are not there yet (they
-- were just found) are put there in this order. A row that was parked, and was given a new place since, is no longer
-- parked; but one that holds its key does so until queue_rows.sql gives it its turn back.
-- $11, $12, $13, $14 ids, times, keys, late?  $15 they were parked
WITH started AS (
    {start}
), begun AS (
    INSERT INTO seriatim.aside AS a (process_name, row_id, lane, position_at, key, state, begun, late, due_at)
    SELECT $1, r.id, $2::integer, r.at, r.key, 'due', true, r.late, clock_timestamp()
    FROM started,
         unnest($11::text[], $12::timestamptz[], $13::text[], $14::boolean[])
             WITH ORDINALITY AS r (id, at, key, late, place)
    ORDER BY r.place
    ON CONFLICT (process_name, row_id) DO UPDATE
    SET state = 'due', begun = true,
        number = CASE WHEN $15::boolean OR a.holds_key THEN a.number ELSE EXCLUDED.number END,
        parked_at = CASE WHEN $15::boolean THEN a.parked_at END,
        head = a.head AND ($15::boolean OR a.holds_key),
        late = CASE WHEN $15::boolean THEN a.late ELSE EXCLUDED.late END
    WHERE NOT a.begun
)
SELECT * FROM started
