-- Parked rows of lane $2 of $3 are never handed over: row $4 alone, or those of key $5, or ($6) all. Answers how many,
-- how many of these keep the numbers that a receiver may have seen, and whether the lane's failed row is one of them.
-- $7 who  $8 why
WITH gone AS (
    DELETE FROM seriatim.aside AS p
    WHERE p.process_name = $1 AND p.parked_at IS NOT NULL
      AND (p.key_hash % $3::bigint + $3::bigint) % $3::bigint = $2::integer
      AND ($6::boolean
           OR p.row_id = $4
           OR ($5::text IS NOT NULL AND p.key_hash = hashtextextended($5, 0) AND p.key = $5))
    RETURNING p.row_id, p.key, p.attempts, p.detail, p.begun, p.number
), left_begun AS (  -- the first of the batch that goes out still; rows behind it used no number up
    SELECT min(a.number) AS number
    FROM seriatim.aside AS a
    WHERE a.process_name = $1 AND a.begun AND (a.key_hash % $3::bigint + $3::bigint) % $3::bigint = $2::integer
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
       count(*) FILTER (WHERE g.begun AND (l.number IS NULL OR g.number < l.number)) AS begun,
       count(*) FILTER (WHERE g.row_id = (SELECT c.failed_id FROM seriatim.cursor AS c
                                          WHERE c.process_name = $1 AND c.lane = $2::integer
                                            AND c.state IN ('halted', 'retrying'))) > 0 AS waits_at
FROM gone AS g CROSS JOIN left_begun AS l
