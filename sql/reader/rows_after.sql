-- Rows after a place, in order, whatever `where` says of them: it is asked apart if it fails on one of them.
-- $1, $2 after this place  $3 at or after this moment, or this id in that order  $4 rows
SELECT t.{id}::text AS id,
       CASE WHEN isfinite({created_at_utc}) THEN
           (extract(epoch FROM {created_at_utc}) * 1000000)::bigint END AS created_at_us
FROM {table} AS t
WHERE ($1::timestamptz IS NULL OR ({place}) > ({place:$1,$2}))
  AND ({by_id} OR (t.{created_at} > '-infinity' AND t.{created_at} < '294247-01-01 UTC'))
  AND ($3::{lead_type} IS NULL OR {lead} >= $3::{lead_type})
ORDER BY {place}
LIMIT $4::bigint
