-- What a prune takes away is no longer noted row by row. A bucket it has passed lists the rows that were there then;
-- those of them that are gone since were pruned.
ALTER TABLE seriatim.ledger
    ADD COLUMN pruned bigint NOT NULL DEFAULT 0,  -- delivered, pruned, and no longer in rows, hash and ids
    ADD COLUMN gone   bigint;                     -- NULL: no prune has passed. Else, of the rows delivered, those deleted before

-- A sealed bucket of which rows were pruned goes on with what is left of it. Where ids are known it is one that a prune
-- has passed, so what is gone of it counts as pruned.
UPDATE seriatim.ledger
SET rows = rows - pruned_rows, hash = hash # pruned_hash, pruned = pruned_rows
WHERE pruned_rows > 0 AND ids IS NULL;
UPDATE seriatim.ledger SET gone = 0 WHERE pruned_rows > 0 AND ids IS NOT NULL;

ALTER TABLE seriatim.ledger DROP COLUMN pruned_rows, DROP COLUMN pruned_hash;
