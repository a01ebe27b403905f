-- Rows of a lane are handed over again, in the order they were set aside: row $8 and the rows of the
-- key it holds, or those of key $9, or ($10) all. The epoch grows, so that the holder looks anew.
-- $1 to $7 as in pause_lane.sql  $11 lanes
WITH before AS (
    SELECT * FROM seriatim.cursor AS c
    WHERE c.process_name = $1 AND c.lane = $2::integer AND c.epoch = $3::bigint
      AND c.position_at IS NOT DISTINCT FROM $4::timestamptz
      AND c.position_id IS NOT DISTINCT FROM $5::text
), named AS (
    SELECT * FROM seriatim.aside AS a WHERE a.process_name = $1 AND a.row_id = $8
), due AS (
    UPDATE seriatim.aside AS p
    SET state = 'due', due_at = coalesce(p.due_at, clock_timestamp())
    FROM before AS b
    WHERE p.process_name = b.process_name AND p.parked_at IS NOT NULL
      AND (p.key_hash % $11::bigint + $11::bigint) % $11::bigint = b.lane
      AND ($10::boolean
           OR p.row_id = $8
           OR (p.holds_key
               AND EXISTS (SELECT FROM named AS n
                           WHERE n.holds_key AND n.key_hash = p.key_hash
                             AND n.key IS NOT DISTINCT FROM p.key))
           OR ($9::text IS NOT NULL AND p.key_hash = hashtextextended($9, 0) AND p.key = $9))
    RETURNING p.row_id
), counted AS (
    SELECT count(*) AS rows FROM due
), changed AS (
    UPDATE seriatim.cursor AS c
    SET epoch = c.epoch + 1
    FROM before AS b, counted AS n
    WHERE c.process_name = b.process_name AND c.lane = b.lane AND n.rows > 0
), journalled AS (
    INSERT INTO seriatim.journal
        (process_name, lane, act, who, why, epoch, position_at, position_id, row_id, detail)
    SELECT b.process_name, b.lane, 'redrive', coalesce($6::text, session_user::text), $7::text, b.epoch,
           b.position_at, b.position_id, $8, jsonb_build_object('key', left($9, 200), 'rows', n.rows)
    FROM before AS b, counted AS n
    WHERE n.rows > 0
)
SELECT n.rows, pg_notify('seriatim_control', $1) FROM before, counted AS n
