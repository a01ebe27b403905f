-- One row by its id, whatever is in it. Where several share the id, the latest.
SELECT CASE WHEN {created_at_utc} > '-infinity' AND {created_at_utc} < '294247-01-01 UTC' THEN
           (extract(epoch FROM {created_at_utc}) * 1000000)::bigint END AS created_at_us,
       count(*) OVER () AS same_id
FROM {table} AS t
WHERE t.{id} = $1::{id_type}
ORDER BY t.{created_at} DESC NULLS LAST
LIMIT 1
