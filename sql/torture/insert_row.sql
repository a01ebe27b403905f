INSERT INTO {table} (writer, shelf, key, payload, slow_ms)
VALUES ($1::integer, $2::integer, $3, $4::json, $5::integer)
RETURNING id
