-- While rows are deleted no cursor goes back (lock_retention.sql). A statement before the one that
-- deletes, so that this one sees the cursors as they are now. The commit holds the fence, so it does not
-- wait for the disk: rows and their notes are lost together with a server that crashes, and go again.
SELECT pg_advisory_xact_lock_shared(hashtextextended('seriatim.retention', 0)),
       set_config('synchronous_commit', 'off', true)
