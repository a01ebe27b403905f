-- Rows $2 were handed over, so they are aside no longer; the next row of a key is the first now, and goes out by
-- itself if that one did. Answers for each that was the first of its key, or held none: whether it was held, and
-- whether a row of its key follows.
WITH gone AS (
    DELETE FROM seriatim.aside WHERE process_name = $1 AND row_id = ANY ($2::text[]) RETURNING *
), next AS (  -- a queue may be long, so only its beginning is read
    SELECT n.row_id, k.key, k.retry_at
    FROM (SELECT key_hash, key, min(retry_at) AS retry_at FROM gone WHERE holds_key GROUP BY key_hash, key) AS k
    CROSS JOIN LATERAL (
        SELECT a.row_id
        FROM seriatim.aside AS a
        WHERE a.process_name = $1 AND a.holds_key AND a.row_id <> ALL ($2::text[])
          AND a.key_hash = k.key_hash AND a.key IS NOT DISTINCT FROM k.key
        ORDER BY a.number
        LIMIT 1
    ) AS n
), first AS (
    UPDATE seriatim.aside AS a
    SET head = true, state = CASE a.state WHEN 'queued' THEN 'parked' ELSE a.state END,
        retry_at = coalesce(n.retry_at, a.retry_at)
    FROM next AS n
    WHERE a.process_name = $1 AND a.row_id = n.row_id
)
SELECT g.key, g.holds_key::text AS holds_key, (g.retry_at IS NOT NULL)::text AS held,
       (g.holds_key AND EXISTS (SELECT FROM next AS n WHERE n.key IS NOT DISTINCT FROM g.key))::text AS followed
FROM gone AS g
WHERE g.head
