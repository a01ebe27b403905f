-- A value the planner cannot look at, not even where it might: a prepared statement's plan for one value then looks
-- no cheaper than its plan for all, which PostgreSQL keeps. Planned anew each time, a poll that finds few rows took
-- 0.32 ms by created_at and 0.41 by id, now 0.10 and 0.09 (pgbench, the least of five).
(SELECT {parameter}::{type})
