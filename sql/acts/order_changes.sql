-- Rows on different sides of the cursor ($1, $2) in the two orders, counted to 1000.
-- $3: true where ids were the former order.
SELECT count(*) FILTER (WHERE is_after) AS passed_over, count(*) FILTER (WHERE NOT is_after) AS repeated
FROM (
    SELECT (t.{id} > $2::{id_type}) = $3::boolean AS is_after
    FROM {table} AS t
    WHERE ((t.{created_at}, t.{id}) > ($1::timestamptz, $2::{id_type})) <> (t.{id} > $2::{id_type})
      AND ({where}) AND {lane_filter}
    LIMIT 1000
) AS r
