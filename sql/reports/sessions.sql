-- What the session of each lane's holder is at, and who has locked the lane's cursor row. Waits for nothing: it reads what
-- the server shows of its sessions and locks, and the rows of the cursor as committed.
-- A role without pg_read_all_stats does not see what other roles' sessions are at: state is NULL then.
-- $1 process
WITH session AS MATERIALIZED (
    SELECT a.pid, a.backend_start, a.application_name, a.state, a.wait_event_type, a.wait_event,
           floor(extract(epoch FROM clock_timestamp()
                 - CASE WHEN a.state = 'active' THEN a.query_start ELSE a.state_change END) * 1000)::bigint AS for_ms
    FROM pg_catalog.pg_stat_activity AS a
), locker AS MATERIALIZED (  -- a row that is locked bears the number of the transaction
    SELECT l.transactionid, l.pid
    FROM pg_catalog.pg_locks AS l
    WHERE l.locktype = 'transactionid' AND l.granted
)
SELECT c.lane, s.pid, s.state, s.wait_event_type, s.wait_event, s.for_ms,
       floor(extract(epoch FROM clock_timestamp() - c.calling_since) * 1000)::bigint AS called_ms,
       floor(extract(epoch FROM clock_timestamp()
                     - (c.lease_until - c.lease_ms * interval '1 millisecond')) * 1000)::bigint AS heard_ms,
       c.call_epoch = c.epoch AS in_call,
       -- A drain audits on a session of its own, and says nothing on the lane's meanwhile.
       EXISTS (SELECT FROM session AS o
               WHERE o.application_name = 'seriatim/' || $1 || '/audit' AND o.state = 'active') AS auditing,
       k.transactionid::text AS locked_by
FROM seriatim.cursor AS c
LEFT JOIN session AS s ON s.pid = c.holder_pid AND (s.backend_start IS NULL OR s.backend_start = c.holder_started)
LEFT JOIN locker AS k ON k.transactionid = c.xmax
                      AND (k.pid IS NULL OR k.pid IS DISTINCT FROM c.holder_pid)
WHERE c.process_name = $1
