-- A holder is protected during a call by what the cursor's row says, and by no lock: a call is announced in the row and
-- settled with a comparison, and a person who acts asks for a turn.
ALTER TABLE seriatim.cursor
    ADD COLUMN call_epoch    bigint,       -- a call is in flight if this is the row's epoch
    ADD COLUMN calling_since timestamptz,  -- … and was announced then
    ADD COLUMN lease_ms      bigint,       -- what the holder asked for; lease_until is its end
    ADD COLUMN hold_by       text,         -- asks for a turn: until hold_until no call is announced
    ADD COLUMN hold_until    timestamptz;

-- An older program holds the row's lock during a call, so no call of its is in flight now. It begins no other: it no
-- longer holds the lane, and functions/keep_cursor_ranges.sql refuses what it writes.
UPDATE seriatim.cursor
SET epoch = epoch + 1, holder = NULL, holder_pid = NULL, holder_started = NULL, lease_until = NULL
WHERE state <> 'retired';

-- include views/lanes_and_calls.sql
-- include functions/keep_cursor_ranges.sql

-- The function costs more than the rest of an UPDATE of this row (90 of 220 µs, pgbench, PostgreSQL 15). A statement of this
-- version that keeps its rules by itself says so by setting updated_at. A migration that must keep this version out
-- changes the number here too.
DROP TRIGGER cursor_keep ON seriatim.cursor;
CREATE TRIGGER cursor_keep_new BEFORE INSERT ON seriatim.cursor
    FOR EACH ROW EXECUTE FUNCTION seriatim.keep_cursor();
CREATE TRIGGER cursor_keep BEFORE UPDATE ON seriatim.cursor
    FOR EACH ROW WHEN (NEW.updated_at = OLD.updated_at
                       OR current_setting('seriatim.knows_schema', true) IS DISTINCT FROM '17')
    EXECUTE FUNCTION seriatim.keep_cursor();
