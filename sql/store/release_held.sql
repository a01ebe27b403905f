-- Keys of lane $2 of $4 that were held until now go out again: of each its first row, if that failed before, else $5 rows. One that comes
-- meanwhile follows them (queue_rows.sql). Nothing, unless the cursor's row is of epoch $3.
WITH held AS (
    SELECT a.* FROM seriatim.aside AS a
    JOIN seriatim.cursor AS c ON c.process_name = a.process_name AND c.lane = $2::integer AND c.epoch = $3::bigint
    WHERE a.process_name = $1 AND a.state = 'parked' AND a.retry_at <= clock_timestamp()
      AND (a.key_hash % $4::bigint + $4::bigint) % $4::bigint = $2::integer
    FOR UPDATE OF c
)
UPDATE seriatim.aside AS a
SET state = 'due', due_at = coalesce(a.due_at, clock_timestamp())
FROM held AS h CROSS JOIN LATERAL (
    SELECT h.row_id
    UNION ALL
    (SELECT q.row_id
     FROM seriatim.aside AS q
     WHERE h.holds_key AND q.process_name = $1 AND q.holds_key AND q.row_id <> h.row_id
       AND q.key_hash = h.key_hash AND q.key IS NOT DISTINCT FROM h.key
     ORDER BY q.number
     LIMIT CASE WHEN h.attempts > 0 THEN 0 ELSE $5::bigint - 1 END)
) AS r
WHERE a.process_name = $1 AND a.row_id = r.row_id AND a.state <> 'due'
