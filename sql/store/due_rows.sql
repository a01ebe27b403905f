-- What goes out before the rows after the cursor of lane $2 of $3, at most $4 rows: what was begun, then the
-- others, in their order. A parked row goes out in the lane that has its key now (as lane_filter.sql).
-- With the time until a held key of the lane is to go out again (release_held.sql).
-- For several calls: rows $5 come first; none that holds one of the keys $6, and none of $7.
SELECT c.handed_to > c.sequence AS number_in_use, due.row_id, due.begun, due.redriven, due.late,
       due.created_at_us, due.holds_key, due.key, due.attempts,
       (SELECT ceil(extract(epoch FROM a.retry_at - clock_timestamp()) * 1000)::bigint
        FROM seriatim.aside AS a
        WHERE a.process_name = c.process_name AND a.state = 'parked' AND a.retry_at IS NOT NULL
          AND (a.key_hash % $3::bigint + $3::bigint) % $3::bigint = c.lane
        ORDER BY a.retry_at
        LIMIT 1) AS held_for_ms
FROM seriatim.cursor AS c
LEFT JOIN LATERAL (
    (SELECT true AS first, a.row_id, a.number, a.begun, a.parked_at IS NOT NULL AS redriven, a.late,
            (extract(epoch FROM a.position_at) * 1000000)::bigint AS created_at_us,
            a.holds_key, a.key, CASE WHEN a.retry_at IS NULL THEN 0 ELSE a.attempts END AS attempts
     FROM seriatim.aside AS a
     WHERE a.process_name = c.process_name AND a.state = 'due' AND a.row_id = ANY ($5::text[])
       AND CASE WHEN a.parked_at IS NULL THEN a.lane
           ELSE (a.key_hash % $3::bigint + $3::bigint) % $3::bigint END = c.lane)
    UNION ALL
    (SELECT false, a.row_id, a.number, a.begun, a.parked_at IS NOT NULL, a.late,
            (extract(epoch FROM a.position_at) * 1000000)::bigint,
            a.holds_key, a.key, CASE WHEN a.retry_at IS NULL THEN 0 ELSE a.attempts END
     FROM seriatim.aside AS a
     WHERE a.process_name = c.process_name AND a.state = 'due'
       AND CASE WHEN a.parked_at IS NULL THEN a.lane
           ELSE (a.key_hash % $3::bigint + $3::bigint) % $3::bigint END = c.lane
       AND NOT (a.holds_key
                AND a.key_hash = ANY (SELECT coalesce(hashtextextended(k, 0), 0) FROM unnest($6::text[]) AS k))
       AND a.row_id <> ALL ($5::text[] || $7::text[])
     ORDER BY a.begun DESC, a.number
     LIMIT $4::bigint)
) AS due ON true
WHERE c.process_name = $1 AND c.lane = $2::integer
ORDER BY due.first DESC, due.begun DESC, due.number
