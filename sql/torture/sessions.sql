SELECT pid, application_name FROM pg_stat_activity
WHERE datname = current_database() AND starts_with(application_name, $1)
ORDER BY pid
