-- Does an index know the lane of a row? A planner that avoids scans of the table then uses that index.
EXPLAIN (COSTS off) SELECT FROM {table} AS t WHERE {lane_filter}
