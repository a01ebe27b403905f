CREATE TABLE {table} (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payload text,
                      created_at timestamptz NOT NULL DEFAULT clock_timestamp());
CREATE INDEX ON {table} (created_at, id);
