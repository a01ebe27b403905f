-- As late_rows_by_created_at.sql, in the order of an identity column.
-- $1 after this id  $2 up to this one  $3 rows to look at  $4 process  $5 lane  $6, $7 buckets by
-- number  $8 late rows
WITH noted AS MATERIALIZED (
    SELECT coalesce(range_agg(one.range), '{}') AS ranges
    FROM (
        SELECT unnest(l.ranges)
        FROM seriatim.ledger AS l
        WHERE l.process_name = $4 AND l.lane = $5::integer
          AND l.number BETWEEN $6::bigint AND $7::bigint
        UNION ALL
        SELECT unnest(c.bucket_ranges)
        FROM seriatim.cursor AS c
        WHERE c.process_name = $4 AND c.lane = $5::integer
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
            WHERE ($1::bigint IS NULL OR t.{id} > $1::bigint)
            AND t.{id} <= $2::bigint
            AND ({where}) AND {lane_filter}
            ORDER BY t.{id}
            LIMIT $3::bigint
        ) AS r
        CROSS JOIN noted
        WHERE NOT ({in_ranges})
        UNION ALL
        SELECT unnest(l.ids), NULL, false
        FROM seriatim.ledger AS l
        WHERE l.process_name = $4 AND l.lane = $5::integer
          AND l.number BETWEEN $6::bigint AND $7::bigint
        UNION ALL
        SELECT unnest(c.bucket_ids), NULL, false
        FROM seriatim.cursor AS c
        WHERE c.process_name = $4 AND c.lane = $5::integer
    ) AS either
    GROUP BY either.id
    HAVING bool_and(either.is_row)
) AS late
ORDER BY late.id::bigint
LIMIT $8::bigint
