-- What is committed, wherever it lies now, by pages. $1: name of the table  $2: after this id
SELECT id, (extract(epoch FROM created_at) * 1000000)::bigint, key, payload
FROM (
    (SELECT id, created_at, key, payload::text AS payload FROM {table}
     WHERE id > $2::bigint ORDER BY id LIMIT 10000)
    UNION ALL
    (SELECT id, created_at, key, payload FROM {archive}
     WHERE table_name = $1 AND id > $2::bigint ORDER BY id LIMIT 10000)
) AS rows
ORDER BY id LIMIT 10000
