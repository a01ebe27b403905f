-- Rows behind a parked row of their key are queued in their order, and go out again with it. One that is parked
-- already (a person gave it a new place) keeps its turn. With several calls in flight the rows before them may have
-- been delivered since they were read: then the first is held, and due at once. Answers whether it is.
-- $1 process  $2 lane  $3 times  $4 ids  $5 keys
WITH r AS MATERIALIZED (
    SELECT u.*, coalesce(hashtextextended(u.key, 0), 0) AS hash,
           row_number() OVER (PARTITION BY u.key ORDER BY u.place) = 1 AS first
    FROM unnest($3::timestamptz[], $4::text[], $5::text[]) WITH ORDINALITY AS u (at, id, key, place)
), k AS MATERIALIZED (  -- a key may have many rows, so it is looked up once
    SELECT d.key, d.hash, h.state, h.due_at,
           h.state = 'due' AND EXISTS (SELECT FROM seriatim.aside AS q
                                       WHERE q.process_name = $1 AND q.holds_key AND q.state = 'queued'
                                         AND q.key_hash = d.hash AND q.key IS NOT DISTINCT FROM d.key) AS waits
    FROM (SELECT key, hash FROM r WHERE first) AS d
    LEFT JOIN LATERAL (
        SELECT f.state, f.due_at
        FROM seriatim.aside AS f
        WHERE f.process_name = $1 AND f.holds_key AND f.key_hash = d.hash AND f.key IS NOT DISTINCT FROM d.key
        ORDER BY f.number
        LIMIT 1
    ) AS h ON true
)
INSERT INTO seriatim.aside AS a
    (process_name, lane, row_id, position_at, key, state, late, holds_key, parked_at, due_at, head, retry_at)
SELECT $1, $2::integer, r.id, r.at, r.key,
       -- Nor does it come before rows of its key that wait still.
       CASE WHEN k.state IS NULL AND r.first THEN 'parked' WHEN k.state = 'due' AND NOT k.waits THEN 'due' ELSE 'queued' END,
       true, true, clock_timestamp(), CASE WHEN k.state = 'due' AND NOT k.waits THEN k.due_at END,
       k.state IS NULL AND r.first, CASE WHEN k.state IS NULL AND r.first THEN clock_timestamp() END
FROM r JOIN k ON k.hash = r.hash AND k.key IS NOT DISTINCT FROM r.key
ORDER BY r.place
ON CONFLICT (process_name, row_id) DO UPDATE
SET state = CASE WHEN a.head AND EXCLUDED.state = 'queued' THEN 'parked' ELSE EXCLUDED.state END, begun = false, late = true, holds_key = true, parked_at = EXCLUDED.parked_at,
    due_at = EXCLUDED.due_at, head = a.head OR EXCLUDED.head, retry_at = EXCLUDED.retry_at
WHERE a.parked_at IS NULL
RETURNING (a.state = 'parked' AND a.retry_at IS NOT NULL)::text AS held
