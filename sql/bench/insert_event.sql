INSERT INTO events (key, payload) VALUES ($1, json_build_object('text', 'booked', 'filler', repeat('x', 200))) RETURNING id
