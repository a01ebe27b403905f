-- Jobs of pg_cron in this database that name table $1 and take rows away.
SELECT j.jobid, j.schedule
FROM cron.job AS j
WHERE j.active AND j.database = current_database()
  AND j.command ~* '\m(delete|drop|truncate|detach)\M'
  AND strpos(lower(j.command), (SELECT lower(c.relname) FROM pg_class AS c WHERE c.oid = $1::oid)) > 0
ORDER BY j.jobid
LIMIT 20
