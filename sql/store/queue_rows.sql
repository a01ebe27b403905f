-- Rows behind a parked row of their key are set aside in their order, and go out again with it. One that is
-- parked already (a person gave it a new place) keeps its turn.
-- $1 process  $2 lane  $3 times  $4 ids  $5 keys
INSERT INTO seriatim.parked (process_name, lane, row_id, position_at, key, holds_key, head, redrive_at)
SELECT $1, $2::integer, r.id, r.at, r.key, true, false,
       (SELECT p.redrive_at
        FROM seriatim.parked AS p
        WHERE p.process_name = $1 AND p.head AND p.holds_key
          AND p.key_hash = coalesce(hashtextextended(r.key, 0), 0) AND p.key IS NOT DISTINCT FROM r.key)
FROM unnest($3::timestamptz[], $4::text[], $5::text[]) WITH ORDINALITY AS r (at, id, key, place)
ORDER BY r.place
ON CONFLICT (process_name, row_id) DO NOTHING
