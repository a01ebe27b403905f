-- Cursors for a process that was said to be a new one: before the first row.
-- $1 process  $2 lanes  $3 the identity  $4 who  $5 why
WITH created AS (
    INSERT INTO seriatim.cursor (process_name, lane, lanes, identity)
    SELECT $1, lane, $2::integer, $3::jsonb FROM generate_series(0, $2::integer - 1) AS lane
    RETURNING *
)
INSERT INTO seriatim.journal (process_name, lane, act, who, why, epoch, detail)
SELECT process_name, lane, 'adopt', coalesce($4::text, session_user::text), $5::text, epoch,
       jsonb_build_object('adopted', identity)
FROM created
