SELECT t.{id}::text AS id, (extract(epoch FROM {created_at_utc}) * 1000000)::bigint AS created_at_us
FROM {table} AS t
WHERE isfinite({created_at_utc})
ORDER BY t.{id} DESC
LIMIT 1
