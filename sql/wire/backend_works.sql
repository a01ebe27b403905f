-- Whether a backend is at a statement of ours still. One that is not, or is gone, has answered, and
-- the answer was lost. One that is, and waits for its client, has not got all that was sent together. $1 pid
SELECT coalesce(bool_and(a.wait_event IS DISTINCT FROM 'ClientRead'
                         AND a.state IS DISTINCT FROM 'idle'
                         AND a.state IS DISTINCT FROM 'idle in transaction'
                         AND a.state IS DISTINCT FROM 'idle in transaction (aborted)'), false)
FROM pg_stat_activity AS a
WHERE a.pid = $1::integer
