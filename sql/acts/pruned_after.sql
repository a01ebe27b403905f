-- Rows of a lane that were pruned and cannot come again, if no row is left at or before a place.
-- $1 process  $2 lane  $3, $4 the place; NULL: before the first row
SELECT coalesce(sum(h.rows), 0)::bigint
FROM seriatim.horizon AS h
WHERE h.process_name = $1 AND h.lane = $2::integer
  AND ($3::timestamptz IS NULL
       OR NOT EXISTS (SELECT FROM {table} AS t
                      WHERE ({place}) <= ({place:$3,$4}) AND ({where}) AND {lane_filter}))
