-- Of checks that were killed in between: ours, prepared $1 minutes ago or before.
SELECT p.gid
FROM pg_prepared_xacts AS p
WHERE p.gid LIKE 'seriatim\_probe\_%' AND p.owner = current_user AND p.database = current_database()
  AND p.prepared < clock_timestamp() - $1::bigint * interval '1 minute'
LIMIT 20
