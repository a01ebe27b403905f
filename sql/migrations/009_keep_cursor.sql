-- One trigger keeps the cursor's row, instead of CHECKs and two triggers.
-- include functions/keep_cursor.sql

ALTER TABLE seriatim.cursor
    DROP CONSTRAINT cursor_attempts_check,
    DROP CONSTRAINT cursor_check,
    DROP CONSTRAINT cursor_check1,
    DROP CONSTRAINT cursor_check2,
    DROP CONSTRAINT cursor_check3,
    DROP CONSTRAINT cursor_crashes_check,
    DROP CONSTRAINT cursor_lane_check,
    DROP CONSTRAINT cursor_process_name_check,
    DROP CONSTRAINT cursor_sequence_check,
    DROP CONSTRAINT cursor_state_check;
DROP TRIGGER cursor_touch ON seriatim.cursor;
DROP TRIGGER cursor_close_bucket ON seriatim.cursor;
DROP FUNCTION seriatim.touch_updated_at();
DROP FUNCTION seriatim.close_bucket();
CREATE TRIGGER cursor_keep BEFORE INSERT OR UPDATE ON seriatim.cursor
    FOR EACH ROW EXECUTE FUNCTION seriatim.keep_cursor();
