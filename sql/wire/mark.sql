-- A handler's work in the transaction that moves the cursor can be taken back up to here (undo.sql).
-- time_max_ms: what is left of its deadline; before the savepoint, so that an undo leaves it.
SELECT set_config('statement_timeout', '{time_max_ms}', true);
SAVEPOINT handler
