-- Parked row $2, and the one its key waits for.
SELECT p.key, p.holds_key, p.head, p.attempts, p.detail,
       to_char(p.parked_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS parked_at,
       p.redrive_at IS NOT NULL AS redriven, f.row_id AS first_id, f.detail AS first_detail,
       to_char(p.retry_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS retry_at,
       to_char(f.retry_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS first_retry_at
FROM seriatim.parked AS p
LEFT JOIN LATERAL (
    SELECT q.row_id, q.detail, q.retry_at
    FROM seriatim.parked AS q
    WHERE q.process_name = p.process_name AND p.holds_key AND q.holds_key AND q.head
      AND q.key_hash = p.key_hash AND q.key IS NOT DISTINCT FROM p.key
    LIMIT 1
) AS f ON true
WHERE p.process_name = $1 AND p.row_id = $2
