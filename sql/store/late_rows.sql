-- Rows of a range of positions that are not among the ids noted for it, in order. Rows and ids are
-- grouped by a hash, so the time grows with their number and never with their product; rows in noted ranges
-- are left out before.
-- The range: $1, $2 after this position  $3, $4 up to this one  $5 rows to look at  $6 process  $7 lane
-- $8, $9 buckets by number  $10 late rows
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
            SELECT t.{id} AS id,
                   CASE WHEN isfinite({created_at_utc}) THEN {created_at_utc} END AS at
            FROM {table} AS t
            WHERE {within} AND ({where}) AND {lane_filter}
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
ORDER BY {place_of_late}
LIMIT $10::bigint
