-- Is the backend of another session of ours, $1, begun at $2, here? Only then both see the same rows
-- and locks: a URL may name several servers.
SELECT NOT pg_is_in_recovery()
       AND EXISTS (SELECT FROM pg_stat_activity AS a
                   WHERE a.pid = $1::integer AND a.backend_start = $2::timestamptz) AS same
