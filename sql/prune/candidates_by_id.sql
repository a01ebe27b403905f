-- As candidates_by_created_at.sql, in the order of an identity column; $1 is NULL where $2 is.
SELECT t.{id}::text AS id,
       CASE WHEN isfinite({created_at_utc}) THEN
           (extract(epoch FROM {created_at_utc}) * 1000000)::bigint END AS created_at_us,
       hashtextextended(t.{id}::text, 0) AS hash, ({below}) AS below, ({free}) AS free,
       coalesce(isfinite({created_at_utc}) AND {created_at_utc} < $3::timestamptz, false) AS old
FROM {table} AS t
WHERE ($1::timestamptz IS NULL OR t.{id} > $2::bigint)
ORDER BY t.{id}
LIMIT $4::bigint
