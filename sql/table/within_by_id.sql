-- As within_by_created_at.sql, in the order of an identity column; the moments decide nothing. Without an id
-- there is no bound.
t.{id} >= coalesce({from_id}::bigint, -9223372036854775808)
AND ({from_id} IS NULL OR t.{id} > {from_id}::bigint)
AND t.{id} <= coalesce({to_id}::bigint, 9223372036854775807)
AND ({from_at} IS NULL OR {to_at} IS NULL OR true)
