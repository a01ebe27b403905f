INSERT INTO {table} (payload) SELECT repeat('x', 300) FROM generate_series(1, {rows});
