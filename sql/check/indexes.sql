-- Usable indexes of table $1 over plain columns without a condition, and how each relates to id
-- ($2) and created_at ($3).
SELECT format('%I.%I', n.nspname, c.relname) AS name,
       m.amname = 'btree' AS btree,
       i.indisunique AS is_unique,
       keys.names = ARRAY[$2::text] AS is_id_alone,
       $2 = ANY (keys.names) AS has_id,
       keys.names <@ ARRAY[$2, $3]::text[] AS is_of_id_and_time,
       keys.names[1] = $2 AS leads_with_id,
       keys.names[1] = $3 AS leads_with_time,
       keys.names[1:2] = ARRAY[$3, $2]::text[]
           AND (i.indoption[0] & 1) = (i.indoption[1] & 1) AS leads_with_time_and_id,
       array_to_string(keys.names, ', ') AS columns
FROM pg_index AS i
JOIN pg_class AS c ON c.oid = i.indexrelid
JOIN pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_am AS m ON m.oid = c.relam
CROSS JOIN LATERAL (
    SELECT array_agg(a.attname::text ORDER BY k.place) AS names
    FROM unnest(i.indkey::smallint[]) WITH ORDINALITY AS k (number, place)
    JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = k.number
    WHERE k.place <= i.indnkeyatts
) AS keys
WHERE i.indrelid = $1::oid
  AND i.indisvalid AND i.indisready AND i.indpred IS NULL AND i.indexprs IS NULL
ORDER BY c.relname
