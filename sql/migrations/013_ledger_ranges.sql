-- The ledger keeps ranges of consecutive integers, and lists other ids as before. A bucket may hold both.
ALTER TABLE seriatim.cursor
    ADD COLUMN bucket_ranges    int8multirange NOT NULL DEFAULT '{}',
    ADD COLUMN bucket_newest_at timestamptz;     -- the newest created_at in it; NULL: empty, or not known

ALTER TABLE seriatim.ledger
    ADD COLUMN ranges    int8multirange,         -- NULL: none, or (ids NULL too) sealed
    ADD COLUMN newest_at timestamptz,            -- NULL: not known
    ALTER COLUMN hash DROP NOT NULL;             -- NULL: computed when it is read or sealed

-- include functions/ledger_ids.sql
-- include functions/ledger_list.sql
-- include functions/ledger_rows.sql
-- include functions/ledger_hash.sql
-- include functions/keep_cursor_ranges.sql

-- Owners may have taken EXECUTE from PUBLIC by default; these read no table.
GRANT EXECUTE ON FUNCTION
    seriatim.ledger_ids(text[], int8multirange), seriatim.ledger_list(text[], int8multirange),
    seriatim.ledger_rows(text[], int8multirange), seriatim.ledger_hash(text[], int8multirange) TO PUBLIC;
