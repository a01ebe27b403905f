-- The payload of row $1, of at most $2 bytes. Where several rows share the id, the latest.
SELECT coalesce(octet_length(p.payload) > $2::bigint, false) AS too_large,
       CASE WHEN octet_length(p.payload) <= $2::bigint THEN p.payload END AS payload
FROM (SELECT ({payload_text}) AS payload
      FROM {table} AS t
      WHERE t.{id} = $1::{id_type} AND ({where})
      ORDER BY t.{created_at} DESC NULLS LAST
      LIMIT 1) AS p
