-- Held to the end of the transaction: two `seriatim init` at once take turns.
SELECT pg_advisory_xact_lock(hashtextextended('seriatim.migration', 0))
