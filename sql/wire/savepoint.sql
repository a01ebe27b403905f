-- A handler's work in the transaction that moves the cursor can be taken back up to here (undo.sql). Its statements are
-- planned as the role's settings say, not as one_plan.sql does.
-- time_max_ms: what is left of its deadline; before the savepoint, so that an undo leaves it.
SET LOCAL enable_seqscan TO DEFAULT;
SET LOCAL enable_sort TO DEFAULT;
SET LOCAL enable_incremental_sort TO DEFAULT;
SET LOCAL jit TO DEFAULT;
SET LOCAL max_parallel_workers_per_gather TO DEFAULT;
SELECT set_config('statement_timeout', '{time_max_ms}', true);
SAVEPOINT handler
