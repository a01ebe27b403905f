-- What our role may not do in schema seriatim, as the statements that would let it.
WITH needed (kind, object, id, privilege) AS (
    SELECT 'SCHEMA', 'seriatim', n.oid, 'USAGE'
    FROM pg_namespace AS n WHERE n.nspname = 'seriatim'
    UNION ALL
    SELECT 'TABLE', format('seriatim.%I', c.relname), c.oid, right_to.privilege
    FROM (VALUES ('cursor', 'SELECT'), ('cursor', 'INSERT'), ('cursor', 'UPDATE'),
                 ('ledger', 'SELECT'), ('ledger', 'INSERT'), ('ledger', 'UPDATE'),
                 ('ledger', 'DELETE'), ('aside', 'SELECT'), ('aside', 'INSERT'),
                 ('aside', 'UPDATE'), ('aside', 'DELETE'), ('parked', 'SELECT'), ('instance', 'SELECT'),
                 ('instance', 'INSERT'), ('instance', 'UPDATE'), ('instance', 'DELETE'),
                 ('audited', 'SELECT'), ('audited', 'INSERT'), ('audited', 'UPDATE'),
                 ('horizon', 'SELECT'), ('horizon', 'INSERT'), ('horizon', 'UPDATE'), ('horizon', 'DELETE'),
                 ('journal', 'SELECT'), ('journal', 'INSERT'),
                 ('migration', 'SELECT'), ('lanes', 'SELECT'),
                 ('instances', 'SELECT')) AS right_to (name, privilege)
    JOIN pg_class AS c ON c.relname = right_to.name
    JOIN pg_namespace AS n ON n.oid = c.relnamespace AND n.nspname = 'seriatim'
)
SELECT format('GRANT %s ON %s %s TO %I', privilege, kind, object, current_user) AS statement
FROM needed
WHERE NOT CASE kind WHEN 'SCHEMA' THEN has_schema_privilege(id, privilege)
                    ELSE has_table_privilege(id, privilege) END
