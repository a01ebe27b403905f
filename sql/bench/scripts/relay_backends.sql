SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'seriatim/{process}%'
