-- Replaces lanes.sql, which earlier migrations quote. For psql: the state of every lane. A lane whose holder is gone is shown as standby.
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
       c.updated_at,
       CASE WHEN alive.yes AND c.call_epoch = c.epoch THEN c.calling_since END AS calling_since,
       CASE WHEN c.hold_until > clock_timestamp() THEN c.hold_by END AS turn_asked_by
FROM seriatim.cursor AS c
CROSS JOIN LATERAL (
    SELECT c.holder IS NOT NULL AND c.lease_until > clock_timestamp()
       AND (c.holder_pid IS NULL OR EXISTS (
               SELECT FROM pg_stat_activity AS a
               WHERE a.pid = c.holder_pid
                 AND (a.backend_start IS NULL OR a.backend_start = c.holder_started))) AS yes
) AS alive
ORDER BY c.process_name, c.lane;
