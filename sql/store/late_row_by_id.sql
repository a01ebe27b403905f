-- As late_row_by_created_at.sql, in the order of an identity column; $1 decides nothing.
SELECT t.{id}::text AS id, NULL::bigint AS created_at_us, $1::timestamptz AS unused
FROM {table} AS t
WHERE t.{id} = $3::{id_type} AND t.{id} <= $2::{id_type}
  AND ({where}) AND {lane_filter}
