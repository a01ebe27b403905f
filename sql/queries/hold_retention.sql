-- While rows are deleted no cursor goes back (lock_retention.sql). A statement before the one that
-- deletes, so that this one sees the cursors as they are now.
SELECT pg_advisory_xact_lock_shared(hashtextextended('seriatim.retention', 0))
