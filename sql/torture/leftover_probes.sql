-- Prepared by a `check` or `run` that a fault cut off.
SELECT gid FROM pg_prepared_xacts
WHERE gid LIKE 'seriatim\_probe\_%' AND owner = current_user AND database = current_database()
