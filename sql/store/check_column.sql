-- Column $2 of table $1, and of all tables above and below it: a row is stamped by the default of
-- the one it is inserted through.
WITH RECURSIVE above AS (
    SELECT $1::oid AS oid
    UNION
    SELECT i.inhparent FROM pg_inherits AS i JOIN above ON i.inhrelid = above.oid
), below AS (
    SELECT $1::oid AS oid
    UNION
    SELECT i.inhrelid FROM pg_inherits AS i JOIN below ON i.inhparent = below.oid
)
SELECT format('%I.%I', n.nspname, c.relname) AS relation,
       quote_ident($2::text) AS column_name,
       c.oid = $1::oid AS is_root,
       a.attnum IS NOT NULL AS is_there,
       coalesce(format_type(a.atttypid, NULL), '') AS type,
       coalesce(a.atttypmod, -1) AS modifier,
       coalesce(a.attnotnull, false) AS not_null,
       coalesce(a.attidentity::text, '') <> '' AS identity,
       coalesce(a.attgenerated::text, '') <> '' AS generated,
       coalesce(pg_get_expr(d.adbin, d.adrelid), '') AS default_expression,
       a.attnum IS NOT NULL AND has_column_privilege(c.oid, a.attnum, 'UPDATE') AS may_update
FROM pg_class AS c
JOIN pg_namespace AS n ON n.oid = c.relnamespace
LEFT JOIN pg_attribute AS a
       ON a.attrelid = c.oid AND a.attname = $2 AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE c.oid IN (SELECT oid FROM above UNION SELECT oid FROM below)
ORDER BY is_root DESC, relation
