-- `witness` is written in the producers' own transactions, and nothing is ever taken out of it.
CREATE TABLE soak (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, key text NOT NULL, payload text,
                   created_at timestamptz NOT NULL DEFAULT clock_timestamp());
CREATE INDEX ON soak (created_at, id);
CREATE TRIGGER hint AFTER INSERT ON soak FOR EACH STATEMENT EXECUTE FUNCTION seriatim.hint();
CREATE TABLE witness (id bigint NOT NULL);
