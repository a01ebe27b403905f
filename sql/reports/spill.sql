-- Writes some 400 kB to a temporary file: fails with disk_full (53100) if the volume has no room. Neither tables nor the log
-- are written, so it works on a standby and for a role that may write nothing. The numbers depend on the small memory,
-- so that it is set before they are made.
SELECT count(*)
FROM (SELECT set_config('work_mem', '64kB', true) AS memory) AS small
CROSS JOIN LATERAL generate_series(1, 20000 + 0 * length(small.memory)) AS number
