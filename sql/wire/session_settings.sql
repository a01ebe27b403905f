-- Everything a session relies on, whatever the role's or the database's defaults are: one message, so the
-- first statements shield the last one from these defaults, and hold until its end only.
-- Our backend's number is given as the client knows it. A pooler reports a number of its own; its backend is
-- not ours to set, so everything is local to this message there, and pooled_begin.sql does it.
SET LOCAL TRANSACTION ISOLATION LEVEL READ COMMITTED;
SET LOCAL statement_timeout TO 0;
SET LOCAL lock_timeout TO 0;
SET LOCAL search_path TO pg_catalog, pg_temp;
WITH way AS (
    SELECT pg_backend_pid() <> {backend_pid} AS pooled
), wanted (name, value) AS (
    VALUES ('application_name', {application}),
           -- How long and how sure
           ('statement_timeout', '{statement_timeout}'),
           ('lock_timeout', '{lock_timeout}'),
           ('idle_in_transaction_session_timeout', '{idle_timeout}'),
           ('idle_session_timeout', '0'),
           ('transaction_timeout', '0'),
           ('exit_on_error', 'off'),
           ('default_transaction_isolation', 'read committed'),
           ('default_transaction_read_only', 'off'),
           ('default_transaction_deferrable', 'off'),
           ('synchronous_commit', 'on'),
           -- Which rows are seen
           ('row_security', 'on'),
           ('gin_fuzzy_search_limit', '0'),
           ('restrict_nonsystem_relation_kind', ''),
           -- What they, and the catalogue, read as. A database without an encoding (SQL_ASCII) hands out
           -- its bytes unjudged.
           ('client_encoding', CASE current_setting('server_encoding')
                                   WHEN 'SQL_ASCII' THEN 'SQL_ASCII'
                                   ELSE 'UTF8'
                               END),
           ('standard_conforming_strings', 'on'),
           ('quote_all_identifiers', 'off'),
           ('array_nulls', 'on'),
           ('TimeZone', 'UTC'),
           ('DateStyle', 'ISO, YMD'),
           ('IntervalStyle', 'postgres'),
           ('bytea_output', 'hex'),
           ('extra_float_digits', '1'),
           ('xmlbinary', 'base64'),
           ('xmloption', 'content')
), known AS (  -- to this server: some are new. Hardened servers revoke the view pg_settings, not its function
    SELECT wanted.name, wanted.value
    FROM wanted JOIN pg_show_all_settings() AS s ON lower(s.name) = lower(wanted.name)
    UNION ALL
    SELECT 'seriatim.knows_schema', '22'  -- keep_cursor_ranges.sql refuses an older program
), role_path AS (
    -- Nothing in the role's own schemas replaces an object of pg_catalog; expressions of the configuration
    -- find their functions there as ever. PostgreSQL puts pg_catalog first unless the path names it, and
    -- CREATE without a schema goes to the first one named.
    SELECT CASE WHEN strpos(lower(s.reset_val), 'pg_catalog') > 0 OR trim(s.reset_val) IN ('', '""')
                THEN concat_ws(', ', 'pg_catalog', nullif(trim(s.reset_val), ''), 'pg_temp')
                ELSE s.reset_val || ', pg_temp'
           END AS search_path
    FROM pg_show_all_settings() AS s WHERE s.name = 'search_path'
)
SELECT NOT pooled AS direct,
       extract(epoch FROM pg_postmaster_start_time())::text AS server_started,
       quote_ident(current_user) AS role,
       -- reset_val is the setting of the role or the database. pooled_begin.sql checks what another client of a
       -- pooler left.
       (SELECT reset_val FROM pg_show_all_settings() WHERE name = 'session_replication_role') AS replication_role,
       search_path,
       set_config('search_path', search_path, pooled),
       (SELECT count(set_config(name, value, pooled)) FROM known) AS settings,
       (SELECT string_agg(format('SET LOCAL %I TO %L;', name, value), E'\n') FROM known) AS locally
FROM way CROSS JOIN role_path
