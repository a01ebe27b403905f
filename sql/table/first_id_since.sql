-- Id order: the first row created at or after $1, by id.
SELECT t.{id}::text AS id
FROM {table} AS t
WHERE {created_at_utc} >= $1::timestamptz AND ({where})
ORDER BY t.{id}
LIMIT 1
