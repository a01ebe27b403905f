-- One snapshot for table, ledger and cursor. First of its transaction.
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY
