-- The cursor rows of a process, and whether their holders are alive.
SELECT c.lane, c.lanes,
       (extract(epoch FROM c.position_at) * 1000000)::bigint AS position_us, c.position_id,
       c.sequence, c.set_aside, c.epoch, c.state, c.attempts, c.crashes, c.reason, c.detail, c.failed_id, c.holder,
       ceil(extract(epoch FROM c.next_attempt_at - clock_timestamp()) * 1000)::bigint AS retry_ms,
       (extract(epoch FROM c.barrier_at) * 1000000)::bigint AS barrier_us, c.barrier_id,
       (SELECT count(*) FROM seriatim.parked AS p
        WHERE p.process_name = c.process_name AND p.head) AS parked,
       coalesce(c.hold_until > clock_timestamp(), false) AS held,
       coalesce(c.call_epoch = c.epoch, false) AS in_call,
       (extract(epoch FROM clock_timestamp() - c.calling_since) * 1000)::bigint AS called_ms,
       c.lease_until::text, c.lease_ms,
       coalesce(c.lease_until < clock_timestamp(), false) AS lease_over, c.renamed_to, l.holder IS NOT NULL AS holder_alive,
       c.holder_pid IS NOT NULL AND NOT EXISTS (
           SELECT FROM pg_stat_activity AS a
           WHERE a.pid = c.holder_pid
             AND (a.backend_start IS NULL OR a.backend_start = c.holder_started)) AS backend_gone,
       to_char(c.updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS updated_at
FROM seriatim.cursor AS c
LEFT JOIN seriatim.lanes AS l ON l.process_name = c.process_name AND l.lane = c.lane
WHERE c.process_name = {process}
ORDER BY c.lane
