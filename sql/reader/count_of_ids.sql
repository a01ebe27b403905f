-- How many of the rows of these ids are the lane's. FILTER judges no row but these, whatever the plan.
SELECT count(*) FILTER (WHERE ({where}) AND {lane_filter})
FROM {table} AS t
WHERE t.{id} = ANY ($1::{id_type}[])
