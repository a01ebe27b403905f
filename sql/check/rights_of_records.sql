-- What our role may not do with what a relay keeps for those who operate it: by table, and the statement that would let
-- it. Nothing for a table that this schema does not have yet.
WITH needed (name, privilege) AS (
    VALUES ('audit_report', 'SELECT'), ('audit_report', 'INSERT'),
           ('history', 'SELECT'), ('history', 'INSERT'), ('history', 'UPDATE'), ('history', 'DELETE'),
           ('alert', 'SELECT'), ('alert', 'INSERT'), ('alert', 'UPDATE'), ('alert', 'DELETE'),
           ('relay', 'SELECT'), ('relay', 'INSERT'), ('relay', 'UPDATE'), ('relay', 'DELETE')
)
SELECT format('seriatim.%I', c.relname) AS name,
       format('GRANT %s ON TABLE seriatim.%I TO %I', string_agg(r.privilege, ', ' ORDER BY r.privilege), c.relname,
              current_user) AS statement
FROM needed AS r
JOIN pg_class AS c ON c.relname = r.name
JOIN pg_namespace AS n ON n.oid = c.relnamespace AND n.nspname = 'seriatim'
WHERE NOT has_table_privilege(c.oid, r.privilege)
GROUP BY c.relname
ORDER BY c.relname
