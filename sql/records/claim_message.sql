-- The message that has waited longest, of the alerts on processes $1. For $2 ms it is this relay's to send; after that
-- another one may, if this relay is gone.
UPDATE seriatim.alert AS a
SET tries = a.tries + 1, next_try_at = clock_timestamp() + $2::bigint * interval '1 millisecond'
WHERE a.id = (SELECT b.id
              FROM seriatim.alert AS b
              WHERE b.accepted < b.turn AND b.next_try_at <= clock_timestamp() AND b.process_name = ANY ($1::text[])
              ORDER BY b.next_try_at
              LIMIT 1
              FOR UPDATE SKIP LOCKED)
RETURNING a.id, a.turn, a.process_name, a.lane, a.kind, a.summary, a.body::text, a.tries,
          to_char(a.opened_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS opened_at,
          to_char(a.resolved_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS resolved_at
