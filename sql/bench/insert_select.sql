INSERT INTO plain SELECT id, payload ->> 'text' FROM events WHERE id > $1::bigint AND id <= $2::bigint
