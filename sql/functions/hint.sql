-- Statement-level trigger for any outbox table: wakes relays when rows are inserted. Equal
-- notifications of one transaction are sent once by PostgreSQL itself; a lost hint costs only the
-- poll interval. It runs in producers' sessions, whose search_path is theirs: so every name says its schema.
--   CREATE TRIGGER seriatim_hint AFTER INSERT ON my_table
--       FOR EACH STATEMENT EXECUTE FUNCTION seriatim.hint();
CREATE OR REPLACE FUNCTION seriatim.hint() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_catalog.pg_notify('seriatim', TG_RELID::pg_catalog.text);
    RETURN NULL;
END $$;
