-- $5: how many rows in one statement
INSERT INTO {table} (writer, shelf, key, payload)
SELECT $1::integer, $2::integer, $3, json_build_object('token', $4 || '/' || n, 'text', repeat('m', n))
FROM generate_series(1, $5::integer) AS n
RETURNING id
