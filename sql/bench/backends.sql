-- The relay's backends, where the server is on this machine and their processor time can be seen.
SELECT pid FROM pg_stat_activity
WHERE datname = current_database() AND starts_with(application_name, 'seriatim/')
  AND (inet_server_addr() IS NULL OR inet_server_addr() = inet_client_addr())
