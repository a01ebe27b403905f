-- How every transaction begins behind a pooler, in one message with its first statement. The backend is
-- whichever was free: on a server we know, with what other clients left set there. DEFAULT is what the
-- role and the database say; LOCAL leaves nothing of ours to others. READ WRITE fails on a standby.
BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
SET LOCAL statement_timeout TO 0;
SET LOCAL search_path TO pg_catalog, pg_temp;
DO $$ BEGIN
    IF extract(epoch FROM pg_postmaster_start_time())::text <> '{server_started}' THEN
        RAISE EXCEPTION 'the pooler leads to another server than before, or to one that was restarted'
            USING ERRCODE = '55000';
    END IF;
    IF current_setting('session_replication_role', true) <> 'origin' THEN
        RAISE EXCEPTION 'another client of the pooler left session_replication_role set on this backend'
            USING ERRCODE = '55000';
    END IF;
END $$;
SET LOCAL role TO DEFAULT;
SET LOCAL transform_null_equals TO DEFAULT;
SET LOCAL lc_monetary TO DEFAULT;
SET LOCAL lc_numeric TO DEFAULT;
SET LOCAL lc_time TO DEFAULT;
-- What session_settings.sql sets of a session that is all ours
{settings}
SELECT set_config('search_path', {search_path}, true);
