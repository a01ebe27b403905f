-- Parked rows of a lane are never handed over: row $8 alone, or those of key $9, or ($10) all. A lane
-- that stands at one of them goes on; those that were begun keep their numbers, which a receiver may have seen.
-- The epoch grows, as in redrive_parked.sql.
-- $1 to $7 as in pause_lane.sql  $11 lanes
WITH before AS (
    SELECT * FROM seriatim.cursor AS c
    WHERE c.process_name = $1 AND c.lane = $2::integer AND c.epoch = $3::bigint
      AND c.position_at IS NOT DISTINCT FROM $4::timestamptz
      AND c.position_id IS NOT DISTINCT FROM $5::text
), gone AS (
    DELETE FROM seriatim.aside AS p
    USING before AS b
    WHERE p.process_name = b.process_name AND p.parked_at IS NOT NULL
      AND (p.key_hash % $11::bigint + $11::bigint) % $11::bigint = b.lane
      AND ($10::boolean
           OR p.row_id = $8
           OR ($9::text IS NOT NULL AND p.key_hash = hashtextextended($9, 0) AND p.key = $9))
    RETURNING p.row_id, p.key, p.attempts, p.detail, p.begun, p.number
), left_begun AS (  -- the first of the batch that goes out still; rows behind it used no number up
    SELECT min(a.number) AS number
    FROM seriatim.aside AS a JOIN before AS b ON a.process_name = b.process_name
    WHERE a.begun AND (a.key_hash % $11::bigint + $11::bigint) % $11::bigint = b.lane
      AND a.row_id NOT IN (SELECT row_id FROM gone)
), counted AS (
    SELECT count(*) AS rows,
           count(*) FILTER (WHERE g.begun AND (l.number IS NULL OR g.number < l.number)) AS begun
    FROM gone AS g CROSS JOIN left_begun AS l
), changed AS (
    UPDATE seriatim.cursor AS c
    SET epoch = c.epoch + 1,
        sequence = c.sequence + n.begun,
        redriven = c.redriven + n.begun,
        set_aside = c.set_aside + n.begun,
        state = CASE WHEN b.stands THEN 'running' ELSE c.state END,
        reason = CASE WHEN NOT b.stands THEN c.reason END,
        detail = CASE WHEN NOT b.stands THEN c.detail END,
        failed_id = CASE WHEN NOT b.stands THEN c.failed_id END,
        next_attempt_at = CASE WHEN NOT b.stands THEN c.next_attempt_at END,
        attempts = CASE WHEN b.stands OR n.begun > 0 THEN 0 ELSE c.attempts END,
        crashes = CASE WHEN b.stands OR n.begun > 0 THEN 0 ELSE c.crashes END
    FROM (SELECT before.*, before.state IN ('halted', 'retrying')
                           AND before.failed_id IN (SELECT row_id FROM gone) AS stands
          FROM before) AS b, counted AS n
    WHERE c.process_name = b.process_name AND c.lane = b.lane AND n.rows > 0
), journalled AS (
    INSERT INTO seriatim.journal
        (process_name, lane, act, who, why, epoch, position_at, position_id, row_id, detail)
    SELECT b.process_name, b.lane, 'discard', coalesce($6::text, session_user::text), $7::text, b.epoch,
           b.position_at, b.position_id, g.row_id,
           jsonb_build_object('key', left(g.key, 200), 'attempts', g.attempts, 'detail', g.detail)
    FROM before AS b, gone AS g
)
SELECT n.rows, pg_notify('seriatim_control', $1) FROM before, counted AS n
