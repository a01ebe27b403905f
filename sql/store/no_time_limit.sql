-- The rest of this transaction has no time limit: its rows are delivered, and giving up because others have locked a row
-- would deliver them again. It is waited for, whatever a handler's own statement has set.
SELECT set_config('lock_timeout', '0', true), set_config('statement_timeout', '0', true),
       CASE WHEN current_setting('synchronous_commit') <> 'remote_apply'
            THEN set_config('synchronous_commit', 'on', true) END
