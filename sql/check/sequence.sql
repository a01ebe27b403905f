-- The sequence that column $2 of table $1 draws from, as identity or by its default.
SELECT format('%I.%I', n.nspname, c.relname) AS name,
       s.seqcache AS cache,
       s.seqincrement AS increment,
       s.seqcycle AS cycles,
       has_sequence_privilege(c.oid, 'USAGE') OR has_sequence_privilege(c.oid, 'SELECT') AS may_read,
       CASE WHEN has_sequence_privilege(c.oid, 'USAGE') OR has_sequence_privilege(c.oid, 'SELECT')
            THEN coalesce(pg_sequence_last_value(c.oid), s.seqstart - 1) END AS last_value
FROM pg_attribute AS a
LEFT JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
JOIN pg_depend AS link
  ON link.deptype = 'i' AND link.classid = 'pg_class'::regclass
     AND link.refclassid = 'pg_class'::regclass
     AND link.refobjid = a.attrelid AND link.refobjsubid = a.attnum
  OR link.classid = 'pg_attrdef'::regclass AND link.objid = d.oid
     AND link.refclassid = 'pg_class'::regclass
JOIN pg_class AS c
  ON c.relkind = 'S'
     AND c.oid = CASE link.classid WHEN 'pg_class'::regclass THEN link.objid ELSE link.refobjid END
JOIN pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_sequence AS s ON s.seqrelid = c.oid
WHERE a.attrelid = $1::oid AND a.attname = $2 AND a.attnum > 0 AND NOT a.attisdropped
