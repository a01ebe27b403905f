-- $1: the id of a row of a process, in whatever lane
SELECT t.{id}::text AS id,
       CASE WHEN isfinite({created_at_utc}) THEN
           (extract(epoch FROM {created_at_utc}) * 1000000)::bigint END AS created_at_us
FROM {table} AS t
WHERE t.{id} = $1::{id_type} AND ({where})
