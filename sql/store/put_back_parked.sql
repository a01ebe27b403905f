-- Row $2 cannot be handed over, for $3: it is parked again, and the rows of its key wait with it.
WITH row AS (
    UPDATE seriatim.aside AS a
    SET state = 'parked', begun = false, due_at = NULL, detail = $3
    WHERE a.process_name = $1 AND a.row_id = $2
    RETURNING a.key_hash, a.key, a.holds_key
)
UPDATE seriatim.aside AS a
SET state = 'queued', begun = false, due_at = NULL
FROM row AS r
WHERE a.process_name = $1 AND a.row_id <> $2 AND a.state = 'due' AND r.holds_key AND a.holds_key
  AND a.key_hash = r.key_hash AND a.key IS NOT DISTINCT FROM r.key
