-- Rows of a lane that do not simply follow its cursor, in one table: it replaces seriatim.parked and the plan in the
-- cursor's row. A row leaves it once it is delivered (then the ledger has it) or discarded (then the journal has it).
CREATE TABLE seriatim.aside (
    process_name text NOT NULL,
    row_id       text NOT NULL,
    number       bigint GENERATED ALWAYS AS IDENTITY,  -- due rows go out in this order
    lane         integer NOT NULL,        -- that set it aside; its ledger counts a parked row
    position_at  timestamptz,             -- NULL: not known, it was planned before schema version 15
    key          text,                    -- rows without a key count as rows of one key
    key_hash     bigint GENERATED ALWAYS AS (coalesce(hashtextextended(key, 0), 0)) STORED,
    state        text NOT NULL CHECK (state IN (
                     'late',              -- found behind the cursor, waits for a person
                     'parked',            -- failed, waits for a person
                     'queued',            -- an older row of its key is aside
                     'due')),             -- goes out before the rows after the cursor
    begun        boolean NOT NULL DEFAULT false,  -- due: a receiver may have seen it under its next number
    late         boolean,                 -- due: handed over as late; NULL: if it stands behind the cursor then
    holds_key    boolean NOT NULL DEFAULT false,  -- later rows of its key queue behind it
    head         boolean NOT NULL DEFAULT false,  -- parked once, and the first of its key or without one
    attempts     integer NOT NULL DEFAULT 0,      -- 0: never handed over
    detail       text,                    -- what the receiver said last
    parked_at    timestamptz,             -- parked or queued since; the ledger counts it. NULL: it never was
    due_at       timestamptz,
    PRIMARY KEY (process_name, row_id),
    CHECK (state = 'due' OR NOT begun)
);
CREATE INDEX aside_key ON seriatim.aside (process_name, key_hash, number) WHERE holds_key;
CREATE INDEX aside_head ON seriatim.aside (process_name) WHERE head;
CREATE INDEX aside_due ON seriatim.aside (process_name, begun DESC, number) WHERE state = 'due';

INSERT INTO seriatim.aside
    (process_name, row_id, number, lane, position_at, key, state, begun, late, holds_key, head, attempts, detail,
     parked_at, due_at)
OVERRIDING SYSTEM VALUE
SELECT p.process_name, p.row_id, p.number, p.lane, p.position_at, p.key,
       CASE WHEN p.redrive_at IS NOT NULL THEN 'due' WHEN p.head THEN 'parked' ELSE 'queued' END,
       p.redrive_at IS NOT NULL AND EXISTS (SELECT FROM seriatim.cursor AS c
                                            WHERE c.process_name = p.process_name AND p.row_id = ANY (c.planned_ids)),
       true, p.holds_key, p.head, p.attempts, p.detail, p.parked_at, p.redrive_at
FROM seriatim.parked AS p;
SELECT setval(pg_get_serial_sequence('seriatim.aside', 'number'), max(number)) FROM seriatim.aside;

-- A batch that was begun with late_rows = 'deliver' goes on under its numbers.
INSERT INTO seriatim.aside (process_name, row_id, lane, key, state, begun)
SELECT c.process_name, u.id, c.lane, NULL, 'due', true
FROM seriatim.cursor AS c CROSS JOIN LATERAL unnest(c.planned_ids) WITH ORDINALITY AS u (id, place)
ORDER BY c.process_name, c.lane, u.place
ON CONFLICT (process_name, row_id) DO NOTHING;

-- Roles that may use what it replaces may use it.
DO $$
DECLARE
    may record;
BEGIN
    FOR may IN
        SELECT a.privilege_type, a.is_grantable,
               CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END AS grantee
        FROM pg_class AS c CROSS JOIN LATERAL aclexplode(c.relacl) AS a
        WHERE c.oid = 'seriatim.parked'::regclass AND a.grantee <> c.relowner
    LOOP
        EXECUTE format('GRANT %s ON seriatim.aside TO %s%s', may.privilege_type, may.grantee,
                       CASE WHEN may.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END);
    END LOOP;
END $$;

ALTER TABLE seriatim.parked RENAME TO parked_before_15;
-- include views/parked.sql
DO $$
DECLARE
    may record;
BEGIN
    FOR may IN
        SELECT a.is_grantable,
               CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END AS grantee
        FROM pg_class AS c CROSS JOIN LATERAL aclexplode(c.relacl) AS a
        WHERE c.oid = 'seriatim.parked_before_15'::regclass AND a.grantee <> c.relowner AND a.privilege_type = 'SELECT'
    LOOP
        EXECUTE format('GRANT SELECT ON seriatim.parked TO %s%s', may.grantee,
                       CASE WHEN may.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END);
    END LOOP;
END $$;
DROP TABLE seriatim.parked_before_15;
ALTER TABLE seriatim.cursor DROP COLUMN planned_ids;
