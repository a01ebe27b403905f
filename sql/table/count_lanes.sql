-- Rows that wait, of several lanes in one pass: reads no more than $3 rows after $1, $2, which is at or before each
-- cursor. `more`: there may be others behind them. `reached`: the pass got as far as the lane's cursor.
-- $4 lanes  $5, $6 their cursors
WITH lanes AS MATERIALIZED (
    SELECT l.lane, l.at::timestamptz AS at, l.id::{id_type} AS id
    FROM unnest($4::integer[], $5::text[], $6::text[]) AS l (lane, at, id)
), ahead AS MATERIALIZED (
    SELECT row_number() OVER () AS n, r.*
    FROM (
        SELECT coalesce((hashtextextended(({key})::text, 0) % {lanes} + {lanes}) % {lanes}, 0) AS lane,
               {created_at_utc} AS at, t.{id} AS id
        FROM {table} AS t
        WHERE ($1::timestamptz IS NULL OR ({place}) > ({place:$1,$2}))
          AND ({by_id} OR t.{created_at} < '294247-01-01 UTC')
          AND ({where})
        ORDER BY {place}
        LIMIT $3::bigint
    ) AS r
), furthest AS (
    SELECT a.n, a.at, a.id FROM ahead AS a ORDER BY a.n DESC LIMIT 1
), counted AS (
    SELECT l.lane, count(*) AS rows, min(a.n) AS first
    FROM ahead AS a JOIN lanes AS l ON l.lane = a.lane
    WHERE l.id IS NULL OR ({place:a.at,a.id}) > ({place:l.at,l.id})
    GROUP BY l.lane
)
SELECT l.lane, coalesce(c.rows, 0) AS rows, f.id::text AS id,
       CASE WHEN isfinite(f.at) THEN (extract(epoch FROM f.at) * 1000000)::bigint END AS created_at_us,
       coalesce(e.n = $3::bigint, false) AS more,
       coalesce(l.id IS NULL OR ({place:l.at,l.id}) < ({place:e.at,e.id}), false) AS reached
FROM lanes AS l
LEFT JOIN counted AS c ON c.lane = l.lane
LEFT JOIN ahead AS f ON f.n = c.first
LEFT JOIN furthest AS e ON true
