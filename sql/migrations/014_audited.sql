-- When an auditor last went through all that lies behind a lane's cursor. Not a column of the cursor: the lane's
-- own writes must never wait for it.
CREATE TABLE seriatim.audited (
    process_name text NOT NULL,
    lane         integer NOT NULL,
    passed_at    timestamptz NOT NULL,
    PRIMARY KEY (process_name, lane)
) WITH (fillfactor = 50);                  -- room for HOT updates

-- The roles that run relays have these rights on seriatim.instance already.
DO $$
DECLARE
    right_of record;
BEGIN
    FOR right_of IN
        SELECT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END AS role, a.privilege_type AS name
        FROM pg_class AS c CROSS JOIN LATERAL aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) AS a
        WHERE c.oid = 'seriatim.instance'::regclass
          AND a.grantee <> (SELECT o.relowner FROM pg_class AS o WHERE o.oid = 'seriatim.audited'::regclass)
    LOOP
        EXECUTE format('GRANT %s ON seriatim.audited TO %s', right_of.name, right_of.role);
    END LOOP;
END $$;
