CREATE INDEX {concurrently}ON {table} ((coalesce((hashtextextended(({key})::text, 0) % {lanes} + {lanes}) % {lanes}, 0)), {columns})
