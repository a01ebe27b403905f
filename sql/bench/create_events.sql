-- The outbox of a bench; `storage` is empty or a PARTITION BY.
CREATE SEQUENCE events_id CACHE 1;
CREATE TABLE events (
    id         bigint NOT NULL DEFAULT nextval('events_id') PRIMARY KEY,
    key        text NOT NULL,
    payload    json NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
) {storage};
ALTER SEQUENCE events_id OWNED BY events.id;
CREATE INDEX events_created_at ON events (created_at, id);
CREATE TRIGGER hint AFTER INSERT ON events FOR EACH STATEMENT EXECUTE FUNCTION seriatim.hint();
CREATE TABLE model (id bigint PRIMARY KEY, text text);   -- filled by the relay
CREATE TABLE plain (LIKE model INCLUDING ALL);           -- filled without it
CREATE TABLE tick (id int PRIMARY KEY, n bigint NOT NULL) WITH (fillfactor = 50);
INSERT INTO tick VALUES (1, 0);
