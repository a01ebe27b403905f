-- Standbys that have caught up, and that a COMMIT waits for.
SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming' AND sync_state IN ('sync', 'quorum')
