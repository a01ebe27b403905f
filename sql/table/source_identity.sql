-- $1 system identifier  $2 timeline  (NULL: cannot be known)  $3 table  $4 its oid  $5 order_by
-- $6 id  $7 created_at  $8 filter  $9 key  $10 payload: as configured, but for white space. A long one is kept as a hash
SELECT jsonb_strip_nulls(jsonb_build_object(
           'system', $1::text,
           'timeline', $2::text,
           'database', (SELECT d.oid::text FROM pg_database AS d WHERE d.datname = current_database()),
           'table', $3::text,
           'table_oid', $4::text,
           'order_by', $5::text,
           'id', $6::text,
           'created_at', $7::text)
       || (SELECT jsonb_object_agg(name, CASE WHEN octet_length(text) > 2000 THEN 'md5 ' || md5(text) ELSE text END)
           FROM (VALUES ('filter', $8::text), ('key', $9::text), ('payload', $10::text)) AS e (name, text)))
