SELECT gid, (extract(epoch FROM clock_timestamp() - prepared) * 1000)::bigint
FROM pg_prepared_xacts
WHERE database = current_database() AND starts_with(gid, $1)
