-- The rows of the moments $1 after the cursor $2, $3 as they were written: by the statement in its transaction (cmin
-- counts on over savepoints), then by their place in the table. `behind`: a row before it has a greater position.
-- $4 rows at most
SELECT id,
       coalesce(place < max(place) OVER (ORDER BY number ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), false)
           AS behind
FROM (
    SELECT r.id::text AS id,
           row_number() OVER (ORDER BY r.at, r.id) AS place,
           row_number() OVER (ORDER BY r.at, r.statement, r.tableoid, r.ctid) AS number
    FROM (
        SELECT t.{id} AS id, t.{created_at} AS at, t.cmin::text::bigint AS statement, t.tableoid, t.ctid
        FROM {table} AS t
        WHERE t.{created_at} = ANY ($1::timestamptz[])
          AND ($2::timestamptz IS NULL OR (t.{created_at}, t.{id}) > ($2::timestamptz, $3::{id_type}))
          AND ({where}) AND {lane_filter}
        LIMIT $4::bigint
    ) AS r
) AS n
ORDER BY number
