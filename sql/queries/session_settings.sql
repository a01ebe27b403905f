-- Everything a session relies on, whatever the role's or the database's defaults are. A database
-- without an encoding (SQL_ASCII) hands out its bytes unjudged.
SELECT set_config('application_name', $1, false),
       set_config('statement_timeout', $2, false),
       set_config('lock_timeout', $3, false),
       set_config('idle_in_transaction_session_timeout', $4, false),
       set_config('TimeZone', 'UTC', false),
       set_config('DateStyle', 'ISO, YMD', false),
       set_config('bytea_output', 'hex', false),
       set_config('standard_conforming_strings', 'on', false),
       set_config('default_transaction_isolation', 'read committed', false),
       set_config('default_transaction_read_only', 'off', false),
       set_config('synchronous_commit', 'on', false),
       set_config('client_encoding',
                  CASE current_setting('server_encoding')
                      WHEN 'SQL_ASCII' THEN 'SQL_ASCII'
                      ELSE 'UTF8'
                  END, false),
       pg_backend_pid() AS backend_pid
