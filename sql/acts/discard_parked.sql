-- Parked rows of lane $2 of $3 are never handed over: row $4 alone, or those of key $5, or ($6) all. Answers how many,
-- whether one was begun, and whether the lane's failed row is one of them. If one was begun, a receiver may have seen
-- others of its batch, too: these begin anew, under other numbers. The rows behind one that was held go out.
-- $7 who  $8 why
WITH gone AS (
    DELETE FROM seriatim.aside AS p
    WHERE p.process_name = $1 AND p.parked_at IS NOT NULL
      AND (p.key_hash % $3::bigint + $3::bigint) % $3::bigint = $2::integer
      AND ($6::boolean
           OR p.row_id = $4
           OR ($5::text IS NOT NULL AND p.key_hash = hashtextextended($5, 0) AND p.key = $5))
    RETURNING p.row_id, p.key, p.key_hash, p.holds_key, p.attempts, p.detail, p.begun, p.retry_at
), put_back AS (
    UPDATE seriatim.aside AS a
    SET begun = false
    WHERE a.process_name = $1 AND a.begun AND a.parked_at IS NOT NULL
      AND (a.key_hash % $3::bigint + $3::bigint) % $3::bigint = $2::integer
      AND EXISTS (SELECT FROM gone WHERE gone.begun) AND a.row_id NOT IN (SELECT row_id FROM gone)
), go_on AS (
    UPDATE seriatim.aside AS a
    SET retry_at = clock_timestamp()
    FROM gone AS g
    WHERE a.process_name = $1 AND a.state = 'queued' AND g.retry_at IS NOT NULL
      AND a.holds_key AND g.holds_key AND a.key_hash = g.key_hash AND a.key IS NOT DISTINCT FROM g.key
      AND a.row_id NOT IN (SELECT row_id FROM gone)
), journalled AS (
    INSERT INTO seriatim.journal
        (process_name, lane, act, who, why, epoch, position_at, position_id, row_id, detail)
    SELECT c.process_name, c.lane, 'discard', coalesce($7::text, session_user::text), $8::text, c.epoch,
           c.position_at, c.position_id, g.row_id,
           jsonb_build_object('key', left(g.key, 200), 'attempts', g.attempts, 'detail', g.detail)
    FROM gone AS g JOIN seriatim.cursor AS c ON c.process_name = $1 AND c.lane = $2::integer
)
SELECT count(*) AS rows,
       coalesce(bool_or(g.begun), false) AS begun,
       count(*) FILTER (WHERE g.row_id = (SELECT c.failed_id FROM seriatim.cursor AS c
                                          WHERE c.process_name = $1 AND c.lane = $2::integer
                                            AND c.state IN ('halted', 'retrying'))) > 0 AS waits_at
FROM gone AS g
