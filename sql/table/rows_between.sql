-- A lane's rows after $1, $2 up to and with $3, $4, counted. $1 NULL: from the first one on.
SELECT count(*)
FROM {table} AS t
WHERE ($1::timestamptz IS NULL OR ({place}) > ({place:$1,$2}))
  AND ($3::timestamptz IS NULL OR ({place}) <= ({place:$3,$4}))
  AND ({where}) AND {lane_filter}
