-- With on_retry = 'hold_key' a row that failed for now is set aside with the rows of its key, and goes out again by itself.
ALTER TABLE seriatim.aside ADD COLUMN retry_at timestamptz;  -- of a row that holds its key: held until then
CREATE INDEX aside_held ON seriatim.aside (process_name, retry_at) WHERE state = 'parked' AND retry_at IS NOT NULL;

-- Rows that failed and wait for a person or for their next attempt (retry_at), those that queue behind them, and those
-- of them that go out again.
CREATE OR REPLACE VIEW seriatim.parked AS
SELECT process_name, row_id, number, lane, position_at, key, key_hash, holds_key, head, attempts, detail, parked_at,
       CASE WHEN state = 'due' THEN due_at END AS redrive_at, retry_at
FROM seriatim.aside
WHERE parked_at IS NOT NULL;

-- An older program would not try held rows again, and hand a row that is poison over by itself.
-- include functions/keep_cursor_ranges.sql
DROP TRIGGER cursor_keep ON seriatim.cursor;
CREATE TRIGGER cursor_keep BEFORE UPDATE ON seriatim.cursor
    FOR EACH ROW WHEN (NEW.updated_at = OLD.updated_at
                       OR current_setting('seriatim.knows_schema', true) IS DISTINCT FROM '22')
    EXECUTE FUNCTION seriatim.keep_cursor();
