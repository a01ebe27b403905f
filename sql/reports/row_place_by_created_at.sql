-- Does the row come after the cursor, and behind how many of its lane? Compared as columns, so that
-- texts sort as in the table. $1, $2 cursor  $3 the row  $4 counted no further; 0: not at all
SELECT ($1::timestamptz IS NULL
        OR (r.{created_at}, r.{id}) > ($1::timestamptz, $2::{id_type})) AS after_cursor,
       (SELECT count(*) FROM (
            SELECT FROM {table} AS t
            WHERE ($1::timestamptz IS NULL
                   OR (t.{created_at}, t.{id}) > ($1::timestamptz, $2::{id_type}))
              AND (t.{created_at}, t.{id}) < (r.{created_at}, r.{id})
              AND ({where}) AND {lane_filter}
            LIMIT $4::bigint
        ) AS earlier) AS rows_before
FROM {table} AS r
WHERE r.{id} = $3::{id_type}
ORDER BY r.{created_at} DESC NULLS LAST
LIMIT 1
