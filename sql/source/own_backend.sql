SELECT backend_start::text FROM pg_stat_activity WHERE pid = pg_backend_pid()
