SELECT coalesce(max(id), 0), coalesce(max(created_at), '-infinity') FROM events
