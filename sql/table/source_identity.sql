-- $1 system identifier  $2 timeline  (NULL: cannot be known)  $3 table  $4 its oid  $5 order_by
-- $6 id  $7 created_at
SELECT jsonb_strip_nulls(jsonb_build_object(
           'system', $1::text,
           'timeline', $2::text,
           'database', (SELECT d.oid::text FROM pg_database AS d WHERE d.datname = current_database()),
           'table', $3::text,
           'table_oid', $4::text,
           'order_by', $5::text,
           'id', $6::text,
           'created_at', $7::text))
