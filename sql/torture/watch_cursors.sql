-- Notes every step back of this run's cursors (sequence, epoch, or position in the stream's order), and
-- every step by a session that does not hold the lane. Behind a pooler a holder has no backend of its
-- own (holder_pid IS NULL), and only the first can be seen.
CREATE TABLE {schema}.odd_step (
    at           timestamptz NOT NULL DEFAULT clock_timestamp(),
    process_name text NOT NULL,
    lane         integer NOT NULL,
    is_back      boolean NOT NULL,
    what         text NOT NULL
);
CREATE FUNCTION {schema}.note_odd_step() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    back boolean;
    strange boolean;
BEGIN
    back := CASE WHEN NEW.process_name LIKE '%by\_id'
                 THEN NEW.position_id::bigint < OLD.position_id::bigint
                 ELSE (NEW.position_at, NEW.position_id::bigint)
                      < (OLD.position_at, OLD.position_id::bigint) END;
    back := coalesce(back, OLD.position_id IS NOT NULL AND NEW.position_id IS NULL)
            OR NEW.sequence < OLD.sequence OR NEW.epoch < OLD.epoch;
    strange := NEW.sequence <> OLD.sequence AND NEW.holder_pid <> pg_backend_pid();
    IF back OR strange THEN
        INSERT INTO {schema}.odd_step (process_name, lane, is_back, what)
        VALUES (NEW.process_name, NEW.lane, back,
                format('row %s, sequence %s, epoch %s after row %s, sequence %s, epoch %s; by backend %s, '
                       'the holder''s is %s',
                       NEW.position_id, NEW.sequence, NEW.epoch,
                       OLD.position_id, OLD.sequence, OLD.epoch, pg_backend_pid(), NEW.holder_pid));
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER {schema} AFTER UPDATE ON seriatim.cursor
    FOR EACH ROW WHEN (starts_with(NEW.process_name, '{prefix}'))
    EXECUTE FUNCTION {schema}.note_odd_step();
