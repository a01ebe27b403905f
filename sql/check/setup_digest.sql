-- One number for all that `check` refuses of a table itself and a statement can change while lanes read it.
-- If the number is another one, the table is checked again. Catalogues only: no lock is asked for.
-- $1 table  $2 its id  $3 its created_at
WITH RECURSIVE above AS (
    SELECT $1::oid AS oid
    UNION
    SELECT i.inhparent FROM pg_inherits AS i JOIN above ON i.inhrelid = above.oid
), below AS (
    SELECT $1::oid AS oid
    UNION
    SELECT i.inhrelid FROM pg_inherits AS i JOIN below ON i.inhparent = below.oid
), tree AS (
    SELECT oid FROM above UNION SELECT oid FROM below
), facts (fact) AS (
    SELECT concat_ws(' ', 'relation', c.oid, c.relkind, c.relpersistence)
    FROM tree JOIN pg_class AS c ON c.oid = tree.oid
    UNION ALL
    SELECT concat_ws(' ', 'policies', row_security_active(c.oid), {policies_let_all_through})
    FROM pg_class AS c WHERE c.oid = $1::oid
    UNION ALL
    SELECT concat_ws(' ', 'column', a.attrelid, a.attnum, a.attname, a.atttypid, a.atttypmod, a.attnotnull,
                     a.attidentity, a.attgenerated, d.adbin)
    FROM tree
    JOIN pg_attribute AS a ON a.attrelid = tree.oid AND a.attname IN ($2, $3) AND NOT a.attisdropped
    LEFT JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    UNION ALL
    -- As an identity column owns it, or as a default names it
    SELECT concat_ws(' ', 'sequence', s.seqrelid, s.seqincrement, s.seqcache, s.seqcycle)
    FROM pg_attribute AS a
    JOIN pg_depend AS link
      ON link.classid = 'pg_class'::regclass AND link.refclassid = 'pg_class'::regclass
         AND link.refobjid = a.attrelid AND link.refobjsubid = a.attnum AND link.deptype = 'i'
    JOIN pg_sequence AS s ON s.seqrelid = link.objid
    WHERE a.attrelid = $1::oid AND a.attname = $2
    UNION ALL
    SELECT concat_ws(' ', 'sequence', s.seqrelid, s.seqincrement, s.seqcache, s.seqcycle)
    FROM pg_attribute AS a
    JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    JOIN pg_depend AS link
      ON link.classid = 'pg_attrdef'::regclass AND link.objid = d.oid
         AND link.refclassid = 'pg_class'::regclass
    JOIN pg_sequence AS s ON s.seqrelid = link.refobjid
    WHERE a.attrelid = $1::oid AND a.attname = $2
    UNION ALL
    SELECT concat_ws(' ', 'index', i.indkey, i.indnkeyatts, i.indisunique, i.indisvalid, i.indisready,
                     i.indpred IS NULL, i.indexprs IS NULL)
    FROM pg_index AS i WHERE i.indrelid = $1::oid
)
SELECT hashtextextended(string_agg(fact, ';' ORDER BY fact), 0)::text AS digest,
       quote_ident(current_user) AS role
FROM facts
