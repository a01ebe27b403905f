-- Prepared transactions nobody has ended for $1 minutes.
SELECT p.gid, quote_literal(p.gid) AS gid_literal, p.owner,
       extract(epoch FROM clock_timestamp() - p.prepared)::bigint AS age_seconds
FROM pg_prepared_xacts AS p
WHERE p.database = current_database()
  AND p.prepared < clock_timestamp() - $1::bigint * interval '1 minute'
ORDER BY p.prepared
LIMIT 20
