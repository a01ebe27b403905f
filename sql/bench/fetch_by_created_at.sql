SELECT id, created_at, key, payload FROM events
WHERE (created_at, id) > ($1::timestamptz, $2::bigint) ORDER BY created_at, id LIMIT $3
