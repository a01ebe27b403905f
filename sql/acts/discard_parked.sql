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
), follows AS (  -- of each key that was held the first row left
    SELECT n.row_id
    FROM (SELECT DISTINCT key_hash, key FROM gone WHERE retry_at IS NOT NULL AND holds_key) AS k
    CROSS JOIN LATERAL (
        SELECT a.row_id
        FROM seriatim.aside AS a
        WHERE a.process_name = $1 AND a.holds_key AND a.key_hash = k.key_hash AND a.key IS NOT DISTINCT FROM k.key
          AND a.row_id NOT IN (SELECT row_id FROM gone)
        ORDER BY a.number
        LIMIT 1
    ) AS n
), rest AS (
    UPDATE seriatim.aside AS a
    SET begun = a.begun AND (a.parked_at IS NULL OR NOT EXISTS (SELECT FROM gone WHERE gone.begun)),
        retry_at = CASE WHEN a.row_id IN (SELECT row_id FROM follows) THEN clock_timestamp() ELSE a.retry_at END
    WHERE a.process_name = $1 AND a.row_id NOT IN (SELECT row_id FROM gone)
      AND (a.row_id IN (SELECT row_id FROM follows)
           OR (a.begun AND a.state = 'due' AND a.parked_at IS NOT NULL
               AND (a.key_hash % $3::bigint + $3::bigint) % $3::bigint = $2::integer))
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
