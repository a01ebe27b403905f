SELECT id, created_at, key, payload FROM events WHERE id > $1 ORDER BY id LIMIT $2
