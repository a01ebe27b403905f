-- What lanes have that are cut anew. Every epoch is larger than any before, so that a receiver sees no number twice in an
-- epoch.  $1 process
SELECT max(epoch) + 1 AS epoch, min(looked_at)::text AS looked_at, min(created_at)::text AS created_at
FROM seriatim.cursor
WHERE process_name = $1
