-- For psql: the state of every lane. A lane whose holder is gone is shown as standby.
CREATE OR REPLACE VIEW seriatim.lanes AS
SELECT c.process_name,
       c.lane,
       CASE WHEN c.state IN ('halted', 'paused', 'retired') THEN c.state
            WHEN alive.yes THEN c.state
            ELSE 'standby' END AS state,
       c.reason,
       c.failed_id,
       c.detail,
       c.position_id,
       c.position_at,
       c.sequence,
       c.attempts,
       c.next_attempt_at,
       c.epoch,
       CASE WHEN alive.yes THEN c.holder END AS holder,
       c.updated_at
FROM seriatim.cursor AS c
CROSS JOIN LATERAL (
    SELECT c.holder IS NOT NULL
       AND CASE WHEN c.holder_pid IS NULL THEN c.lease_until > clock_timestamp()
           ELSE EXISTS (
               SELECT FROM pg_stat_activity AS a
               WHERE a.pid = c.holder_pid
                 AND (a.backend_start IS NULL OR a.backend_start = c.holder_started)
                 -- A call may outlast the lease: its transaction holds the row meanwhile.
                 AND (c.lease_until > clock_timestamp() OR a.xact_start IS NOT NULL))
           END AS yes
) AS alive
ORDER BY c.process_name, c.lane;
