-- Rows of lane $2 at or below its horizon, where none was left: late ones, or ids that are used again.
-- $1 process  $3 rows at most
SELECT t.{id}::text AS id,
       (extract(epoch FROM CASE WHEN isfinite({created_at_utc}) THEN {created_at_utc} END) * 1000000)::bigint AS created_at_us
FROM seriatim.horizon AS h
CROSS JOIN {table} AS t
WHERE h.process_name = $1 AND h.lane = $2::integer AND h.id IS NOT NULL
  AND {lead} <= {lead:h.at,h.id} AND ({place}) <= ({place:h.at,h.id})
  AND ({by_id} OR isfinite({created_at_utc})) AND ({where}) AND {lane_filter}
ORDER BY {place}
LIMIT $3::bigint
