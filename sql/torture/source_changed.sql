-- Processes with a lane that was kept for a server before the last promotion, or halted over it.
SELECT DISTINCT process_name
FROM seriatim.cursor
WHERE starts_with(process_name, $1)
  AND (reason = 'SOURCE_CHANGED'
       OR identity ->> 'timeline' <> left(pg_walfile_name(pg_current_wal_lsn()), 8))
ORDER BY process_name
