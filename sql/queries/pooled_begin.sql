-- How every transaction begins behind a pooler, in one message with its first statement. The backend is
-- whichever was free: on a server we know, with what other clients left set there. DEFAULT is what the
-- role and the database say; LOCAL leaves nothing of ours to others. READ WRITE fails on a standby.
BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
DO $$ BEGIN
    IF extract(epoch FROM pg_postmaster_start_time())::text <> '{server_started}' THEN
        RAISE EXCEPTION 'the pooler leads to another server than before, or to one that was restarted'
            USING ERRCODE = '55000';
    END IF;
END $$;
-- Which rows are seen, and by whom
SET LOCAL role TO DEFAULT;
SET LOCAL row_security TO DEFAULT;
SET LOCAL search_path TO DEFAULT;
SET LOCAL transform_null_equals TO DEFAULT;
SET LOCAL gin_fuzzy_search_limit TO DEFAULT;
-- What they read as
SET LOCAL extra_float_digits TO DEFAULT;
SET LOCAL IntervalStyle TO DEFAULT;
SET LOCAL lc_monetary TO DEFAULT;
SET LOCAL lc_numeric TO DEFAULT;
SET LOCAL lc_time TO DEFAULT;
SET LOCAL xmlbinary TO DEFAULT;
SET LOCAL xmloption TO DEFAULT;
SET LOCAL TimeZone TO 'UTC';
SET LOCAL DateStyle TO 'ISO, YMD';
SET LOCAL bytea_output TO hex;
SET LOCAL client_encoding TO {client_encoding};
SET LOCAL standard_conforming_strings TO on;
-- How long and how sure
SET LOCAL application_name TO {application};
SET LOCAL statement_timeout TO {statement_timeout};
SET LOCAL lock_timeout TO {lock_timeout};
SET LOCAL idle_in_transaction_session_timeout TO {idle_timeout};
SET LOCAL synchronous_commit TO on;
