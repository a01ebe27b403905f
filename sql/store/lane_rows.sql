-- The cursor rows of a process, and whether their holders are alive.
SELECT c.lane, c.lanes,
       (extract(epoch FROM c.position_at) * 1000000)::bigint AS position_us, c.position_id,
       c.sequence, c.handed_to, c.set_aside, c.ahead::text AS ahead, c.epoch, c.state, c.attempts, c.crashes, c.reason, c.detail, c.failed_id, c.holder,
       ceil(extract(epoch FROM c.next_attempt_at - clock_timestamp()) * 1000)::bigint AS retry_ms,
       (extract(epoch FROM c.barrier_at) * 1000000)::bigint AS barrier_us, c.barrier_id,
       (SELECT count(*) FROM seriatim.aside AS a
        WHERE a.process_name = c.process_name AND a.head AND a.retry_at IS NULL) AS parked,
       (SELECT count(*) FROM seriatim.aside AS a
        WHERE a.process_name = c.process_name AND a.head AND a.retry_at IS NOT NULL) AS held_keys,
       coalesce(c.hold_until > clock_timestamp(), false) AS held,
       c.lease_until::text, c.lease_ms, c.redriven, c.identity::text, c.created_at::text, c.renamed_to, l.holder IS NOT NULL AS holder_alive,
       to_char(c.updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS updated_at
FROM seriatim.cursor AS c
LEFT JOIN seriatim.lanes AS l ON l.process_name = c.process_name AND l.lane = c.lane
WHERE c.process_name = {process}
ORDER BY c.lane
