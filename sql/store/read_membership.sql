-- Who runs process $1, and who holds its lanes; the same statement reports to the others that we run it.
-- That need not be durable: after a crash of the server everyone reports again.
-- A backend of another role hides its start time; then only pid and lease decide.
-- Joined, not asked for with EXISTS: that compares each lane with each connection of the server (1 000 lanes,
-- 1 100 connections: 43 ms a read, measured at 6d11fbb).
-- $1 process  $2 holder  $3 lanes  $4 our backend, NULL behind a pooler  $5 silence in ms after which an
-- instance counts no longer  $6 whether to report
WITH backend AS MATERIALIZED (
    SELECT a.pid, a.backend_start FROM pg_stat_activity AS a
), reported AS (
    INSERT INTO seriatim.instance AS i
        (process_name, holder, lanes, backend_pid, backend_started, seen_at)
    SELECT $1, $2, $3::integer, $4::integer,
           (SELECT b.backend_start FROM backend AS b WHERE b.pid = $4::integer), clock_timestamp()
    WHERE $6::boolean
    ON CONFLICT (process_name, holder) DO UPDATE
        SET lanes = EXCLUDED.lanes, backend_pid = EXCLUDED.backend_pid,
            backend_started = EXCLUDED.backend_started, seen_at = EXCLUDED.seen_at
    RETURNING set_config('synchronous_commit', 'off', true)
), long_gone AS (
    SELECT i.ctid FROM seriatim.instance AS i
    WHERE $6::boolean AND i.holder <> $2  -- of other processes too: nobody may run them any more
      AND i.seen_at < clock_timestamp() - interval '1 minute'
    FOR UPDATE SKIP LOCKED
), forgotten AS (
    DELETE FROM seriatim.instance AS i USING long_gone AS g WHERE i.ctid = g.ctid
)
SELECT NULL::integer AS lane, i.holder, i.lanes, false AS free, NULL::text AS epoch, NULL::text AS lease_until,
       NULL::bigint AS lease_ms
FROM seriatim.instance AS i LEFT JOIN backend AS b ON b.pid = i.backend_pid
WHERE i.process_name = $1
  AND i.seen_at > clock_timestamp() - $5::bigint * interval '1 millisecond'
  AND (i.backend_pid IS NULL
       OR (b.pid IS NOT NULL
           AND (b.backend_start IS NULL OR b.backend_start = i.backend_started)))
UNION ALL
SELECT c.lane, coalesce(c.holder, ''), c.lanes,
       c.holder IS NULL OR NOT coalesce(CASE
           WHEN c.holder_pid IS NULL THEN c.lease_until > clock_timestamp()
           ELSE b.pid IS NOT NULL
               AND (b.backend_start IS NULL OR b.backend_start = c.holder_started)
               AND c.lease_until > clock_timestamp()
       END, false),
       c.epoch::text, c.lease_until::text, c.lease_ms
FROM seriatim.cursor AS c LEFT JOIN backend AS b ON b.pid = c.holder_pid
WHERE c.process_name = $1
