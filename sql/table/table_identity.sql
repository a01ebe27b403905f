-- $1: a name as SQL would read it.
SELECT c.oid::text AS oid, format('%I.%I', n.nspname, c.relname) AS name,
       -- Statement-level INSERT triggers (tgtype: bit 0 row, bit 2 insert) calling seriatim.hint.
       EXISTS (SELECT FROM pg_trigger AS g JOIN pg_proc AS p ON p.oid = g.tgfoid
               WHERE g.tgrelid = c.oid AND g.tgenabled IN ('O', 'A')
                 AND g.tgtype & 1 = 0 AND g.tgtype & 4 <> 0
                 AND p.proname = 'hint' AND p.pronamespace = to_regnamespace('seriatim')) AS hinted,
       c.relkind = 'p' AS partitioned
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.oid = to_regclass($1)
