-- As many rows for each lane, round robin, in five keys each.
SET client_min_messages = warning;
DROP TABLE IF EXISTS t;
TRUNCATE seriatim.cursor, seriatim.ledger, seriatim.journal;
CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, key text NOT NULL, payload text,
                created_at timestamptz NOT NULL DEFAULT clock_timestamp());
CREATE INDEX ON t (created_at, id);
CREATE INDEX ON t (({lane}), created_at, id);
INSERT INTO t (key, payload)
SELECT k, repeat('x', 300)
FROM (SELECT key AS k, row_number() OVER (PARTITION BY {lane}) AS number
      FROM (SELECT 'k' || g AS key FROM generate_series(1, {lanes} * 100) AS g) AS t) AS numbered,
     generate_series(1, {rounds}) AS round
WHERE number <= 5
ORDER BY round, number, k;
ANALYZE t;
CHECKPOINT;
