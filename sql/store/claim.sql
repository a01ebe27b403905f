-- Take the lane, or keep it: free, ours already, or held by one whose lease is over or whose backend
-- is gone. A backend of another role hides its start time; then only the lease decides.
-- That a lease is over is not for the server's clock alone to say, which may be set forward, or be another one after a
-- failover: the claimant has also seen the same epoch and lease for the lease's length on its own clock.
-- A lane that is not free is not even locked, and a row that somebody has locked is passed over.
-- A new holder gets a new epoch, and so does a new session of the same: a late statement of the old one is then refused.
-- So is a late claim, because it names an epoch that is no longer the row's.
-- Between two calls nothing is in flight, so a claim takes the mark of an announced call away.
-- A crash is counted once for each start: the state then says that the attempt has ended, so a holder
-- that dies before it starts one of its own counts none.
-- $1 process  $2 lane  $3 lanes  $4 holder  $5 lease in ms  $6 our backend, NULL behind a pooler  $7 when the
-- process began, where it is known: a row that was made anew since is not taken  $8 epoch and $9 lease that were
-- seen for so long, NULL: none
WITH lane AS (
    SELECT c.process_name, c.lane, c.holder,
           c.holder IS DISTINCT FROM $4 AS changes,
           c.holder IS NOT DISTINCT FROM $4 AND $10::boolean AS joins,
           c.holder IS DISTINCT FROM $4 AND c.holder IS NOT NULL
               AND c.state = 'running' AND c.attempts > 0 AS crashed
    FROM seriatim.cursor AS c
    WHERE c.process_name = $1 AND c.lane = $2::integer
      AND NOT EXISTS (SELECT FROM seriatim.cursor AS o
                      WHERE o.process_name = $1
                        AND (o.lanes <> $3::integer OR o.renamed_to IS NOT NULL))
      AND ($7::timestamptz IS NULL OR c.created_at = $7::timestamptz)
      AND CASE
          WHEN c.holder IS NULL THEN true
          WHEN c.holder = $4 THEN c.epoch = $11::bigint
          ELSE (c.lease_until < clock_timestamp() AND c.epoch = $8::bigint AND c.lease_until = $9::timestamptz)
              OR (c.holder_pid IS NOT NULL AND NOT EXISTS (
                  SELECT FROM pg_stat_activity AS a
                  WHERE a.pid = c.holder_pid
                    AND (a.backend_start IS NULL OR a.backend_start = c.holder_started)))
          END
    FOR UPDATE SKIP LOCKED
), taken AS (
    UPDATE seriatim.cursor AS c
    SET epoch = c.epoch + (l.changes OR l.joins)::integer,
        crashes = c.crashes + l.crashed::integer,
        state = CASE WHEN l.crashed THEN 'retrying' ELSE c.state END,
        detail = CASE WHEN l.crashed THEN 'the process that handled the next row ended'
                      ELSE c.detail END,
        holder = $4,
        holder_pid = $6::integer,
        holder_started = (SELECT a.backend_start FROM pg_stat_activity AS a WHERE a.pid = $6::integer),
        lease_ms = $5::bigint, lease_until = clock_timestamp() + $5::bigint * interval '1 millisecond',
        call_epoch = NULL, calling_since = NULL
    FROM lane AS l
    WHERE c.process_name = l.process_name AND c.lane = l.lane
    RETURNING c.*, l.holder AS previous, l.changes, l.joins, l.crashed
), journalled AS (
    INSERT INTO seriatim.journal
        (process_name, lane, act, who, why, epoch, position_at, position_id, detail)
    SELECT process_name, lane, 'claim', $4,
           CASE WHEN joins THEN 'opened a new session'
                WHEN previous IS NULL THEN 'the lane was free'
                ELSE 'took over from ' || previous END,
           epoch, position_at, position_id,
           jsonb_build_object('previous', previous, 'crashed', crashed)
    FROM taken WHERE changes OR joins
)
SELECT (extract(epoch FROM position_at) * 1000000)::bigint AS position_us, position_id,
       sequence, handed_to, set_aside, ahead::text AS ahead, epoch, state, attempts, crashes, reason, detail, failed_id, holder,
       ceil(extract(epoch FROM next_attempt_at - clock_timestamp()) * 1000)::bigint AS retry_ms,
       (extract(epoch FROM barrier_at) * 1000000)::bigint AS barrier_us, barrier_id,
       coalesce(hold_until > clock_timestamp(), false) AS held, joins, lease_until::text, lease_ms,
       (SELECT count(*) FROM seriatim.aside AS a WHERE a.process_name = $1 AND a.head AND a.retry_at IS NULL) AS parked,
       (SELECT count(*) FROM seriatim.aside AS a WHERE a.process_name = $1 AND a.head AND a.retry_at IS NOT NULL) AS held_keys,
       EXISTS (SELECT FROM seriatim.aside AS a WHERE a.process_name = $1) AS has_aside,
       (extract(epoch FROM created_at) * 1000000)::bigint AS began_us,
       changes, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS clock_us
FROM taken
