-- Do ids stand for other rows than those delivered under them? Looked at are the ids at which the
-- cursor, the cursor $3 $4 of the last look and the newest buckets end: a row there that was created
-- later than the one delivered, in a table whose first row was too.
WITH ends AS (
    SELECT c.position_id AS id, c.position_at AS at
    FROM seriatim.cursor AS c
    WHERE c.process_name = $1 AND c.lane = $2::integer AND c.position_id IS NOT NULL
    UNION
    SELECT $4::text, $3::timestamptz WHERE $4::text IS NOT NULL
    UNION
    SELECT l.to_id, l.to_at
    FROM (SELECT to_id, to_at FROM seriatim.ledger
          WHERE process_name = $1 AND lane = $2::integer
          ORDER BY number DESC LIMIT 8) AS l
)
SELECT t.{id}::text AS id, {created_at_utc}::text AS created_at, ends.at::text AS delivered_at
FROM ends
JOIN {table} AS t ON t.{id} = ends.id::bigint
WHERE {created_at_utc} > ends.at
  AND (SELECT {created_at_utc} FROM {table} AS t ORDER BY t.{id} LIMIT 1) > ends.at
LIMIT 1
