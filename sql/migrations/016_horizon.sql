-- Rows that are pruned leave the ledger, in the transaction that deletes them, and its oldest buckets go once no row of
-- the process is left at or below their end: up to there is the horizon of the process.
CREATE TABLE seriatim.horizon (
    process_name text NOT NULL,
    lane         integer NOT NULL,
    rows         bigint NOT NULL DEFAULT 0,  -- that left its ledger
    number       bigint NOT NULL DEFAULT 0,  -- of its last bucket that went
    at           timestamptz,                -- … and its end; NULL: none went, or the lane was rewound to before
    id           text,
    PRIMARY KEY (process_name, lane)
);

-- The roles that write the ledger have these rights on it already.
DO $$
DECLARE
    may record;
BEGIN
    FOR may IN
        SELECT a.privilege_type, a.is_grantable,
               CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END AS grantee
        FROM pg_class AS c CROSS JOIN LATERAL aclexplode(c.relacl) AS a
        WHERE c.oid = 'seriatim.ledger'::regclass AND a.grantee <> c.relowner
    LOOP
        EXECUTE format('GRANT %s ON seriatim.horizon TO %s%s', may.privilege_type, may.grantee,
                       CASE WHEN may.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END);
    END LOOP;
END $$;

INSERT INTO seriatim.horizon (process_name, lane, rows)
SELECT l.process_name, l.lane, sum(l.pruned_rows)
FROM seriatim.ledger AS l
JOIN seriatim.cursor AS c ON c.process_name = l.process_name AND c.lane = l.lane
WHERE l.number > c.ledger_start
GROUP BY l.process_name, l.lane
HAVING sum(l.pruned_rows) > 0;

UPDATE seriatim.ledger
SET rows = rows - pruned_rows, hash = coalesce(hash, seriatim.ledger_hash(ids, ranges)) # pruned_hash
WHERE pruned_rows > 0;
ALTER TABLE seriatim.ledger DROP COLUMN pruned_rows, DROP COLUMN pruned_hash;

-- An older program would note pruned rows in the columns that went.
-- include functions/keep_cursor_ranges.sql
