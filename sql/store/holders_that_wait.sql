-- Whether the holder of a lane of process $1 ($2: of that lane) waits for a lock of ours; or may come to do so, being
-- at work. It takes its own with SKIP LOCKED, so it has something to commit: what was delivered of a call whose move
-- was sent ahead and taken back. What a backend of another role is at is hidden (NULL).
SELECT coalesce(bool_or(pg_catalog.pg_backend_pid() = ANY (pg_catalog.pg_blocking_pids(a.pid))), false) AS waits,
       coalesce(bool_or(coalesce(a.state, 'active') = 'active'), false) AS busy
FROM seriatim.cursor AS c
JOIN pg_catalog.pg_stat_activity AS a ON a.pid = c.holder_pid
WHERE c.process_name = $1 AND ($2::integer IS NULL OR c.lane = $2::integer)
