-- Rows of sealed buckets of lane $2 of $3 that match now and did not match by the former filter. A bucket keeps count and
-- hash of what was accounted for there: if those of the rows that matched before are the same, none of the others was.
-- $4 at most so many rows
SELECT old.id, (extract(epoch FROM old.at) * 1000000)::bigint AS created_at_us
FROM seriatim.ledger AS b
CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE r.before) AS rows,
           coalesce(bit_xor(hashtextextended(r.id, 0)) FILTER (WHERE r.before), 0) AS hash,
           array_agg(r.id ORDER BY r.number) FILTER (WHERE NOT r.before AND r.is_ours) AS ids,
           array_agg(r.at ORDER BY r.number) FILTER (WHERE NOT r.before AND r.is_ours) AS times
    FROM (
        SELECT t.{id}::text AS id, CASE WHEN isfinite({created_at_utc}) THEN {created_at_utc} END AS at,
               coalesce(({former}), false) AS before, ({ours}) AS is_ours, row_number() OVER (ORDER BY {place}) AS number
        FROM {table} AS t
        WHERE {lead} >= coalesce({lead:b.from_at,b.from_id}, {lead_min}) AND {lead} <= {lead:b.to_at,b.to_id}
          AND (b.from_id IS NULL OR ({place}) > ({place:b.from_at,b.from_id}))
          AND ({place}) <= ({place:b.to_at,b.to_id})
          AND ({by_id} OR isfinite({created_at_utc}))
          AND (({where}) OR ({former})) AND {lane_filter}
    ) AS r
    WHERE r.before OR NOT EXISTS (SELECT FROM seriatim.aside AS a WHERE a.process_name = $1 AND a.row_id = r.id)
) AS there
CROSS JOIN LATERAL unnest(there.ids, there.times) WITH ORDINALITY AS old (id, at, place)
WHERE b.process_name = $1 AND b.lane = $2::integer AND b.lanes = $3::integer AND b.ids IS NULL
  AND there.rows = b.rows AND there.hash = b.hash
ORDER BY b.number, old.place
LIMIT $4::bigint
