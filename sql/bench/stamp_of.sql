SELECT coalesce((SELECT created_at FROM events WHERE id = $1), '-infinity')
