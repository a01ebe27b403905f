-- For a lane's own session. Each statement of a lane reads a range of an index, whatever the table holds, and is
-- planned once, without the values: a plan for one value that seems cheaper would be made anew each time (0.41 ms a
-- poll by id, 0.09 with a plan that is kept). A plan made for an empty table must not scan or sort the full one
-- (838 ms for 400 000 rows). What is switched off counts as dear, so a poll would be compiled, which took 30 ms.
SET plan_cache_mode TO force_generic_plan;
SET enable_seqscan TO off;
SET enable_sort TO off;
SET enable_incremental_sort TO off;
SET jit TO off;
SET max_parallel_workers_per_gather TO 0
