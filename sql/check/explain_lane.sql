-- Does an index know the lane of a row? A planner that avoids scans of the table then looks the lane up.
EXPLAIN (COSTS off) SELECT FROM {table} AS t WHERE {lane_filter}
