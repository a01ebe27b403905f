-- From the catalogue's rows: to_regclass() would answer from a cache that another's commit, waited
-- for at an advisory lock, has not reached yet.
SELECT EXISTS (
    SELECT FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE n.nspname = 'seriatim' AND c.relname = 'migration')
