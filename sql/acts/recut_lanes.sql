-- The rows of a process's lanes become $2 rows that all go on after the barrier $3, $4. Open buckets
-- are closed there, empty ones too, so that every lane's reach up to it. A lane that is new goes on with the number it had when it was there last, and
-- every epoch is larger than any before, so that a receiver sees no number twice in an epoch.
-- $1 process  $5 who  $6 why
WITH before AS (
    SELECT * FROM seriatim.cursor WHERE process_name = $1
), newest AS (
    SELECT max(epoch) + 1 AS epoch, count(*)::integer AS lanes, min(looked_at) AS looked_at,
           min(created_at) AS created_at
    FROM before
), closed AS (
    INSERT INTO seriatim.ledger
        (process_name, lane, lanes, number, from_at, from_id, to_at, to_id, rows, ids, ranges, newest_at)
    SELECT process_name, lane, lanes, sequence, bucket_at, bucket_id, $3::timestamptz, $4::text,
           seriatim.ledger_rows(bucket_ids, bucket_ranges), bucket_ids, nullif(bucket_ranges, '{}'), bucket_newest_at
    FROM before WHERE $3::timestamptz IS NOT NULL
    ON CONFLICT (process_name, lane, number) DO UPDATE  -- nothing since: the last one reaches there
        SET to_at = EXCLUDED.to_at, to_id = EXCLUDED.to_id
        WHERE ledger.lanes = EXCLUDED.lanes
          AND (ledger.to_at, ledger.to_id) IS NOT DISTINCT FROM (EXCLUDED.from_at, EXCLUDED.from_id)
), gone AS (
    DELETE FROM seriatim.cursor AS c
    USING before AS b
    WHERE c.process_name = b.process_name AND c.lane = b.lane AND b.lane >= $2::integer
), kept AS (
    UPDATE seriatim.cursor AS c
    SET lanes = $2::integer, epoch = n.epoch, position_at = $3::timestamptz, position_id = $4::text,
        bucket_at = $3::timestamptz, bucket_id = $4::text, bucket_ids = '{}', bucket_ranges = '{}',
        bucket_newest_at = NULL,
        looked_at = n.looked_at, barrier_at = NULL, barrier_id = NULL, holder = NULL,
        holder_pid = NULL, holder_started = NULL, lease_until = NULL, attempts = 0, crashes = 0,
        state = CASE c.state WHEN 'paused' THEN 'paused' ELSE 'running' END,
        detail = CASE c.state WHEN 'paused' THEN c.detail END,
        reason = NULL, failed_id = NULL, next_attempt_at = NULL
    FROM before AS b, newest AS n
    WHERE c.process_name = b.process_name AND c.lane = b.lane AND b.lane < $2::integer
), added AS (
    INSERT INTO seriatim.cursor
        (process_name, lane, lanes, position_at, position_id, bucket_at, bucket_id, sequence,
         ledger_start, epoch, looked_at, created_at, identity)
    SELECT $1, more.lane, $2::integer, $3::timestamptz, $4::text, $3::timestamptz, $4::text, last.number,
           last.number, n.epoch, n.looked_at, n.created_at, (SELECT b.identity FROM before AS b WHERE b.lane = 0)
    FROM newest AS n
    CROSS JOIN LATERAL generate_series(n.lanes, $2::integer - 1) AS more (lane)
    CROSS JOIN LATERAL (SELECT coalesce(max(l.number), 0) AS number
                        FROM (SELECT number FROM seriatim.ledger WHERE process_name = $1 AND lane = more.lane
                              UNION ALL
                              SELECT number FROM seriatim.horizon WHERE process_name = $1 AND lane = more.lane) AS l) AS last
), anew AS (
    UPDATE seriatim.horizon AS h SET rows = 0 FROM newest AS n WHERE h.process_name = $1 AND h.lane >= n.lanes
), not_begun AS (  -- batches in flight, and what halted a lane as late; late rows of the batches still go out first, in their new lanes
    DELETE FROM seriatim.aside AS a WHERE a.process_name = $1 AND a.parked_at IS NULL AND a.late IS NOT TRUE
), moved AS (
    UPDATE seriatim.aside AS a
    SET lane = (a.key_hash % $2::bigint + $2::bigint) % $2::bigint  -- as lane_filter.sql
    WHERE a.process_name = $1 AND a.parked_at IS NULL AND a.late
), journalled AS (
    INSERT INTO seriatim.journal
        (process_name, act, who, why, epoch, position_at, position_id, detail)
    SELECT $1, 'lanes', coalesce($5::text, session_user::text), $6::text, epoch, $3::timestamptz,
           $4::text, jsonb_build_object('from', lanes, 'to', $2::integer)
    FROM newest
)
SELECT epoch, pg_notify('seriatim_control', $1) FROM newest
