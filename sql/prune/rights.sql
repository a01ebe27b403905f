SELECT has_table_privilege(c.oid, 'DELETE') AS may_delete, quote_ident(current_user) AS role,
       c.relkind = 'p' AS partitioned
FROM pg_class AS c
WHERE c.oid = $1::oid
