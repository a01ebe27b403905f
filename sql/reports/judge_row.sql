-- What the configured expressions say about one row. $2: the number of lanes
SELECT ({where}) AS matches,
       ({event_type})::text AS event_type,
       left(({key})::text, 200) AS key,
       coalesce((hashtextextended(({key})::text, 0) % $2::bigint + $2::bigint) % $2::bigint, 0) AS lane
FROM {table} AS t
WHERE t.{id} = $1::{id_type}
ORDER BY t.{created_at} DESC NULLS LAST
LIMIT 1
