-- The tables of one run, in a schema of its own: a plain one that sends hints, and a partitioned one
-- that is only polled. Run in one transaction.
CREATE SCHEMA {schema};

CREATE FUNCTION {schema}.slowly() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_sleep(NEW.slow_ms / 1000.0);  -- id and created_at are drawn, the row is not there yet
    RETURN NEW;
END $$;

CREATE TABLE {schema}.plain (
    id         bigint GENERATED ALWAYS AS IDENTITY (CACHE 1) PRIMARY KEY,
    writer     integer NOT NULL,
    shelf      integer NOT NULL,
    key        text NOT NULL,
    payload    json NOT NULL,
    slow_ms    integer NOT NULL DEFAULT 0,
    touched    integer NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX plain_created_at ON {schema}.plain (created_at, id);
CREATE TRIGGER slowly BEFORE INSERT ON {schema}.plain
    FOR EACH ROW WHEN (NEW.slow_ms > 0) EXECUTE FUNCTION {schema}.slowly();
CREATE TRIGGER hint AFTER INSERT ON {schema}.plain
    FOR EACH STATEMENT EXECUTE FUNCTION seriatim.hint();

CREATE SEQUENCE {schema}.parts_id CACHE 1;
CREATE TABLE {schema}.parts (
    id         bigint NOT NULL DEFAULT nextval('{schema}.parts_id'),
    writer     integer NOT NULL,
    shelf      integer NOT NULL,
    key        text NOT NULL,
    payload    json NOT NULL,
    slow_ms    integer NOT NULL DEFAULT 0,
    touched    integer NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (id, shelf)
) PARTITION BY LIST (shelf);
ALTER SEQUENCE {schema}.parts_id OWNED BY {schema}.parts.id;
CREATE TABLE {schema}.parts_0 PARTITION OF {schema}.parts FOR VALUES IN (0);
CREATE TABLE {schema}.parts_1 PARTITION OF {schema}.parts FOR VALUES IN (1);
CREATE TABLE {schema}.parts_2 PARTITION OF {schema}.parts FOR VALUES IN (2);
CREATE INDEX parts_created_at ON {schema}.parts (created_at, id);
CREATE TRIGGER slowly BEFORE INSERT ON {schema}.parts
    FOR EACH ROW WHEN (NEW.slow_ms > 0) EXECUTE FUNCTION {schema}.slowly();

-- Rows the producers deleted: the checker still knows what was committed.
CREATE TABLE {schema}.archive (
    table_name text NOT NULL,
    id         bigint NOT NULL,
    key        text NOT NULL,
    payload    text NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (table_name, id)
);
