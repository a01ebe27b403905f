-- Every act on a cursor goes through one function.
-- include functions/hold.sql
-- include functions/lanes_in_call.sql
-- include functions/act.sql

-- Rows that the ledger accounts for, and that nobody delivered: an act passed them over, without naming each.
CREATE TABLE seriatim.passed_over (
    number       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    process_name text NOT NULL,
    lane         integer NOT NULL,         -- whose ledger accounts for them
    entry        bigint NOT NULL,          -- of the journal: who, when and why
    ids          text[] NOT NULL,
    ranges       int8multirange NOT NULL DEFAULT '{}',
    to_at        timestamptz NOT NULL,     -- the place of the last of them, as in the ledger
    to_id        text NOT NULL
);
CREATE INDEX passed_over_process ON seriatim.passed_over (process_name);

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
        EXECUTE format('GRANT %s ON seriatim.passed_over TO %s%s', may.privilege_type, may.grantee,
                       CASE WHEN may.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END);
    END LOOP;
END $$;
