-- Rows that failed and wait for a person, those that queue behind them, and those of them that go out again.
CREATE VIEW seriatim.parked AS
SELECT process_name, row_id, number, lane, position_at, key, key_hash, holds_key, head, attempts, detail, parked_at,
       CASE WHEN state = 'due' THEN due_at END AS redrive_at
FROM seriatim.aside
WHERE parked_at IS NOT NULL;
