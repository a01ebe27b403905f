-- For psql: which instances run a process of several lanes, and how many of these each holds.
CREATE OR REPLACE VIEW seriatim.instances AS
SELECT i.process_name,
       i.holder,
       i.lanes,
       (SELECT count(*) FROM seriatim.lanes AS l
        WHERE l.process_name = i.process_name AND l.holder = i.holder) AS held,
       i.seen_at
FROM seriatim.instance AS i
WHERE i.seen_at > clock_timestamp() - interval '3 seconds'
  AND (i.backend_pid IS NULL OR EXISTS (
          SELECT FROM pg_stat_activity AS a
          WHERE a.pid = i.backend_pid
            AND (a.backend_start IS NULL OR a.backend_start = i.backend_started)))
ORDER BY i.process_name, i.holder;
