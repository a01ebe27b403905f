SET client_min_messages = warning;
DROP SCHEMA IF EXISTS seriatim CASCADE;
DROP TABLE IF EXISTS t;
CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, key text, payload text,
                created_at timestamptz NOT NULL DEFAULT clock_timestamp());
INSERT INTO t (key, payload) SELECT n % {keys}, repeat('x', 300) FROM generate_series(1, {rows}) AS n;
