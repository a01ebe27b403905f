-- Rows of a range of positions that are not among the ids noted for it, in order. Rows and ids are
-- grouped by a hash, so the time grows with their number and never with their product; rows in noted ranges
-- are left out before.
-- $1, $2 after this position ($2 NULL: after this moment)  $3, $4 up to this one ($4 NULL: all of
-- this moment)  $5 rows to check  $6 process  $7 lane  $8, $9 buckets by number  $10 late rows
WITH noted AS MATERIALIZED (
    SELECT coalesce(range_agg(one.range), '{}') AS ranges
    FROM (
        SELECT unnest(l.ranges)
        FROM seriatim.ledger AS l
        WHERE l.process_name = $6 AND l.lane = $7::integer
          AND l.number BETWEEN $8::bigint AND $9::bigint
        UNION ALL
        SELECT unnest(c.bucket_ranges)
        FROM seriatim.cursor AS c
        WHERE c.process_name = $6 AND c.lane = $7::integer
    ) AS one (range)
)
SELECT late.id, (extract(epoch FROM late.at) * 1000000)::bigint AS created_at_us
FROM (
    SELECT either.id, max(either.at) AS at
    FROM (
        SELECT r.id::text AS id, r.at, true AS is_row
        FROM (
            SELECT t.{id} AS id, CASE WHEN isfinite({created_at_utc}) THEN {created_at_utc} END AS at
            FROM {table} AS t
            WHERE ($1::timestamptz IS NULL OR {lead} >= {lead:$1,$2})
            AND ($1::timestamptz IS NULL
                   OR CASE WHEN $2::{id_type} IS NULL THEN t.{created_at} > $1::timestamptz
                      ELSE ({place}) > ({place:$1,$2}) END)
            AND ({by_id} OR t.{created_at} <= $3::timestamptz)
            AND ($4::{id_type} IS NULL OR ({place}) <= ({place:$3,$4}))
            AND ({by_id} OR isfinite({created_at_utc}))
            AND ({where}) AND {lane_filter}
            ORDER BY {place}
            LIMIT $5::bigint
        ) AS r
        CROSS JOIN noted
        WHERE NOT ({in_ranges})
        UNION ALL
        SELECT unnest(l.ids), NULL, false
        FROM seriatim.ledger AS l
        WHERE l.process_name = $6 AND l.lane = $7::integer
          AND l.number BETWEEN $8::bigint AND $9::bigint
        UNION ALL
        SELECT unnest(c.bucket_ids), NULL, false
        FROM seriatim.cursor AS c
        WHERE c.process_name = $6 AND c.lane = $7::integer
    ) AS either
    GROUP BY either.id
    HAVING bool_and(either.is_row)
) AS late
ORDER BY {place:late.at,late.id}
LIMIT $10::bigint
