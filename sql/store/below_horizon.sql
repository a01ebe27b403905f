-- Rows of lane $2 at or below its horizon, where none was left: late ones, or ids that are used again.
-- $1 process  $3 rows at most
WITH horizon AS MATERIALIZED (
    SELECT h.at, h.id FROM seriatim.horizon AS h
    WHERE h.process_name = $1 AND h.lane = $2::integer AND h.id IS NOT NULL
)
SELECT t.{id}::text AS id,
       (extract(epoch FROM CASE WHEN isfinite({created_at_utc}) THEN {created_at_utc} END) * 1000000)::bigint AS created_at_us
FROM {table} AS t
WHERE {lead} <= (SELECT {lead:h.at,h.id} FROM horizon AS h)  -- the index is entered by this
  AND ({place}) <= (SELECT {place:h.at,h.id} FROM horizon AS h)
  AND ({by_id} OR isfinite({created_at_utc})) AND ({where}) AND {lane_filter}
ORDER BY {place}
LIMIT $3::bigint
