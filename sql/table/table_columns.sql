-- Domains show as the type they are made from.
SELECT a.attname AS name, coalesce(b.typname, t.typname) AS type
FROM pg_attribute AS a
JOIN pg_type AS t ON t.oid = a.atttypid
LEFT JOIN pg_type AS b ON b.oid = t.typbasetype
WHERE a.attrelid = $1::oid AND a.attnum > 0 AND NOT a.attisdropped
