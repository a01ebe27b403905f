-- A transaction is shown one picture of pg_stat_activity, that of its first look.
SELECT pg_stat_clear_snapshot()
