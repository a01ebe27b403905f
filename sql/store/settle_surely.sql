-- settle.sql where more hangs on it than the cursor: fails (division by zero) where the lane is no
-- longer ours, so that a COMMIT in the same message keeps nothing of what was written beside it.
-- $23: 1 where the next batch starts with this commit: it is waited for, whatever a handler's own statement
-- has set for the transaction
WITH moved AS ({settle})
SELECT 1 / count(*),
       CASE WHEN $23::integer = 1 AND current_setting('synchronous_commit') <> 'remote_apply'
            THEN set_config('synchronous_commit', 'on', true) END
FROM moved
