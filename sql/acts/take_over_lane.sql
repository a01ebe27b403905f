-- Process $1 is called $8 from now on; the epoch grows, so that nobody goes on under the old name.
-- $1 to $7 as in pause_lane.sql  $8 the new name  $9 the identity
WITH before AS (
    SELECT * FROM seriatim.cursor AS c
    WHERE c.process_name = $1 AND c.lane = $2::integer AND c.epoch = $3::bigint
      AND c.position_at IS NOT DISTINCT FROM $4::timestamptz
      AND c.position_id IS NOT DISTINCT FROM $5::text
), changed AS (
    UPDATE seriatim.cursor AS c
    SET process_name = $8, identity = coalesce(c.identity, '{}') || $9::jsonb, epoch = c.epoch + 1,
        holder = NULL, holder_pid = NULL, holder_started = NULL, lease_until = NULL
    FROM before AS b
    WHERE c.process_name = b.process_name AND c.lane = b.lane
), ledger AS (
    UPDATE seriatim.ledger AS d
    SET process_name = $8
    FROM before AS b
    WHERE d.process_name = b.process_name AND d.lane = b.lane
), horizon AS (
    UPDATE seriatim.horizon AS h
    SET process_name = $8
    FROM before AS b
    WHERE h.process_name = b.process_name AND h.lane = b.lane
), aside AS (
    UPDATE seriatim.aside AS a
    SET process_name = $8
    FROM before AS b
    WHERE a.process_name = b.process_name
), journalled AS (
    INSERT INTO seriatim.journal
        (process_name, lane, act, who, why, epoch, position_at, position_id, detail)
    SELECT $8, lane, 'adopt', coalesce($6::text, session_user::text), $7::text, epoch, position_at, position_id,
           jsonb_build_object('from', process_name, 'noted', identity, 'adopted', $9::jsonb)
    FROM before
)
SELECT pg_notify('seriatim_control', $8) FROM before
