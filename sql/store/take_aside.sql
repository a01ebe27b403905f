-- Rows $2 were handed over, so they are aside no longer; the next row of a key is the first now, and goes out by
-- itself if that one did. Answers the keys that one of them held and of which no row is left.
WITH gone AS (
    DELETE FROM seriatim.aside WHERE process_name = $1 AND row_id = ANY ($2::text[]) RETURNING *
), next AS (
    SELECT DISTINCT ON (a.key_hash, a.key) a.row_id, a.key, g.retry_at
    FROM seriatim.aside AS a JOIN gone AS g
      ON a.process_name = g.process_name AND a.key_hash = g.key_hash AND a.key IS NOT DISTINCT FROM g.key
    WHERE g.holds_key AND a.holds_key AND a.row_id <> ALL ($2::text[])
    ORDER BY a.key_hash, a.key, a.number, g.retry_at
), first AS (
    UPDATE seriatim.aside AS a
    SET head = true, state = CASE a.state WHEN 'queued' THEN 'parked' ELSE a.state END,
        retry_at = coalesce(n.retry_at, a.retry_at)
    FROM next AS n
    WHERE a.process_name = $1 AND a.row_id = n.row_id
)
SELECT DISTINCT g.key
FROM gone AS g
WHERE g.holds_key AND NOT EXISTS (SELECT FROM next AS n WHERE n.key IS NOT DISTINCT FROM g.key)
