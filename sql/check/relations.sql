-- Table $1 first, then every partition below it; and what decides whether all its rows are seen.
SELECT format('%I.%I', n.nspname, c.relname) AS name,
       c.relkind AS kind,
       c.relpersistence AS persistence,
       c.oid = $1::oid AS is_root,
       CASE WHEN c.relkind = 'r' THEN
           (SELECT min(i.inhrelid::regclass::text) FROM pg_inherits AS i
            WHERE i.inhparent = c.oid) END AS child,
       c.oid = $1::oid AND row_security_active(c.oid) AS rows_hidden_by_policy,
       {policies_let_all_through} AS policies_let_all_through,
       has_table_privilege(c.oid, 'SELECT') AS may_select,
       (SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY k.place)
        FROM pg_partitioned_table AS pt
        CROSS JOIN unnest(pt.partattrs::smallint[]) WITH ORDINALITY AS k (number, place)
        JOIN pg_attribute AS a ON a.attrelid = pt.partrelid AND a.attnum = k.number
        WHERE pt.partrelid = c.oid) AS partition_key
FROM pg_class AS c
JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.oid = $1::oid
   OR c.oid IN (SELECT relid FROM pg_partition_tree($1::regclass))
ORDER BY is_root DESC, name
