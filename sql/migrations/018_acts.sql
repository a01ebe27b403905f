-- Every act on a cursor goes through one function. A lane whose rows are passed over by an act (a rewind forwards) says so.
-- include functions/hold.sql
-- include functions/lanes_in_call.sql
-- include functions/act.sql

ALTER TABLE seriatim.ledger ADD COLUMN act bigint;  -- passed over by this entry of the journal; NULL: delivered, or set aside by name
