-- What the server and our role on it are. reset_val: our session sets its own timeouts.
SELECT version() AS version,
       current_setting('server_version') AS release,
       current_setting('server_version_num')::integer AS version_number,
       pg_is_in_recovery() AS standby,
       quote_ident(current_database()) AS database,
       quote_ident(current_user) AS role,
       (SELECT r.rolsuper FROM pg_roles AS r WHERE r.rolname = current_user) AS superuser,
       coalesce((SELECT s.ssl FROM pg_stat_ssl AS s WHERE s.pid = pg_backend_pid()), false) AS tls,
       coalesce(inet_server_addr() <<= '127.0.0.0/8' OR host(inet_server_addr()) = '::1', true) AS local,
       (SELECT s.reset_val::bigint FROM pg_settings AS s
        WHERE s.name = 'idle_in_transaction_session_timeout') AS idle_timeout_ms
