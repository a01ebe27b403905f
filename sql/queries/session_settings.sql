-- Everything a session relies on, whatever the role's or the database's defaults are. A database
-- without an encoding (SQL_ASCII) hands out its bytes unjudged.
-- $5: our backend as the client knows it. A pooler tells a number of its own; its backend is not ours to
-- set, so everything is local to this statement there, and pooled_begin.sql does it.
SELECT set_config('application_name', $1, pooled),
       set_config('statement_timeout', $2, pooled),
       set_config('lock_timeout', $3, pooled),
       set_config('idle_in_transaction_session_timeout', $4, pooled),
       set_config('TimeZone', 'UTC', pooled),
       set_config('DateStyle', 'ISO, YMD', pooled),
       set_config('bytea_output', 'hex', pooled),
       set_config('standard_conforming_strings', 'on', pooled),
       set_config('default_transaction_isolation', 'read committed', pooled),
       set_config('default_transaction_read_only', 'off', pooled),
       set_config('synchronous_commit', 'on', pooled),
       set_config('client_encoding',
                  CASE current_setting('server_encoding')
                      WHEN 'SQL_ASCII' THEN 'SQL_ASCII'
                      ELSE 'UTF8'
                  END, pooled) AS client_encoding,
       NOT pooled AS direct,
       extract(epoch FROM pg_postmaster_start_time())::text AS server_started
FROM (SELECT pg_backend_pid() <> $5::integer) AS way (pooled)
