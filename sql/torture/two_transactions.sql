BEGIN;
INSERT INTO {table} (writer, shelf, key, payload) VALUES ({writer}, {shelf}, {key}, {first});
COMMIT;
BEGIN;
INSERT INTO {table} (writer, shelf, key, payload) VALUES ({writer}, {shelf}, {key}, {second});
COMMIT
