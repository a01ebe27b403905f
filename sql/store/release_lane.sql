WITH released AS (
    UPDATE seriatim.cursor
    SET holder = NULL, holder_pid = NULL, holder_started = NULL, lease_until = NULL,
        call_epoch = NULL, calling_since = NULL,
        attempts = CASE WHEN $5::boolean THEN greatest(attempts - 1, 0) ELSE attempts END
    WHERE process_name = $1 AND lane = $2::integer AND epoch = $3::bigint AND holder = $4
    RETURNING *
)
INSERT INTO seriatim.journal (process_name, lane, act, who, epoch, position_at, position_id)
SELECT process_name, lane, 'release', $4, epoch, position_at, position_id
FROM released
