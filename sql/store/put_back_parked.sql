-- Row $3 cannot be handed over, for $4: it stays parked, and with it the rows of its key.
WITH row AS (
    UPDATE seriatim.parked AS p
    SET redrive_at = NULL, detail = $4
    WHERE p.process_name = $1 AND p.row_id = $3
    RETURNING p.key_hash, p.key, p.holds_key
), queue AS (
    UPDATE seriatim.parked AS p
    SET redrive_at = NULL
    FROM row AS r
    WHERE p.process_name = $1 AND p.row_id <> $3 AND r.holds_key AND p.holds_key
      AND p.key_hash = r.key_hash AND p.key IS NOT DISTINCT FROM r.key
)
UPDATE seriatim.cursor SET planned_ids = '{}'
WHERE process_name = $1 AND lane = $2::integer AND planned_ids = ARRAY[$3::text]
