-- Waits for the batch of `seriatim prune` that is in flight, and lets none begin (hold_retention.sql).
SELECT pg_advisory_xact_lock(hashtextextended('seriatim.retention', 0))
