-- Rows after the place $1, $2, in order, and which of them are older than $3: in the order of created_at no others.
-- $4 rows
SELECT t.{id}::text AS id,
       (extract(epoch FROM CASE WHEN isfinite({created_at_utc}) THEN {created_at_utc} END) * 1000000)::bigint
           AS created_at_us,
       hashtextextended(t.{id}::text, 0) AS hash, ({below}) AS below, ({free}) AS free,
       coalesce(isfinite({created_at_utc}) AND {created_at_utc} < $3::timestamptz, false) AS old
FROM {table} AS t
WHERE ($1::timestamptz IS NULL OR ({place}) > ({place:$1,$2}))
  AND ({by_id} OR (t.{created_at} < $3::timestamptz AND isfinite({created_at_utc})))
ORDER BY {place}
LIMIT $4::bigint
