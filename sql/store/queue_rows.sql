-- Rows behind a parked row of their key are queued in their order, and go out again with it. One that is parked
-- already (a person gave it a new place) keeps its turn.
-- $1 process  $2 lane  $3 times  $4 ids  $5 keys
INSERT INTO seriatim.aside AS a
    (process_name, lane, row_id, position_at, key, state, late, holds_key, parked_at, due_at)
SELECT $1, $2::integer, r.id, r.at, r.key, CASE WHEN first.due_at IS NULL THEN 'queued' ELSE 'due' END, true, true,
       clock_timestamp(), first.due_at
FROM unnest($3::timestamptz[], $4::text[], $5::text[]) WITH ORDINALITY AS r (at, id, key, place)
LEFT JOIN LATERAL (
    SELECT f.due_at
    FROM seriatim.aside AS f
    WHERE f.process_name = $1 AND f.head AND f.holds_key AND f.state = 'due'
      AND f.key_hash = coalesce(hashtextextended(r.key, 0), 0) AND f.key IS NOT DISTINCT FROM r.key
      AND NOT EXISTS (  -- nor does it come before rows of its key that wait still
          SELECT FROM seriatim.aside AS q
          WHERE q.process_name = $1 AND q.holds_key AND q.state = 'queued'
            AND q.key_hash = f.key_hash AND q.key IS NOT DISTINCT FROM f.key)
) AS first ON true
ORDER BY r.place
ON CONFLICT (process_name, row_id) DO UPDATE
SET state = CASE WHEN a.head AND EXCLUDED.state = 'queued' THEN 'parked' ELSE EXCLUDED.state END, begun = false, late = true, holds_key = true, parked_at = EXCLUDED.parked_at,
    due_at = EXCLUDED.due_at
WHERE a.parked_at IS NULL
