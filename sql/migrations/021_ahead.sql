-- With in_flight above 1 rows of different keys are in flight at once, so rows after the cursor may be done before it
-- gets there. They are kept here, in the commit that says so, with the numbers of the rows that may be in flight:
--   {"numbered_to": 12, "done": ["id", [first, last], …], "to": [created_at in µs, "id"],
--    "open": [[number, attempts, "id"], [number, attempts, first id, how many], …],
--    "set_aside": of those that are done, the ones that failed and are aside; as "done",
--    "aside": rows set aside that go out again; as "open"}
-- NULL: nothing is done after the cursor, and no row there has a number.
ALTER TABLE seriatim.cursor ADD COLUMN ahead jsonb;

-- An older program would deliver again what is done after the cursor.
-- include functions/keep_cursor_ranges.sql
DROP TRIGGER cursor_keep ON seriatim.cursor;
CREATE TRIGGER cursor_keep BEFORE UPDATE ON seriatim.cursor
    FOR EACH ROW WHEN (NEW.updated_at = OLD.updated_at
                       OR current_setting('seriatim.knows_schema', true) IS DISTINCT FROM '21')
    EXECUTE FUNCTION seriatim.keep_cursor();
