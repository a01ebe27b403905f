-- Of the rows of process $1 the one that speaks most against a claim by a relay of $3 lanes that knows the
-- process to have begun at $4 (NULL: it does not); else that of lane $2, else any.
SELECT c.lanes, c.renamed_to IS NOT NULL AS retired, c.detail,
       (extract(epoch FROM c.created_at) * 1000000)::bigint AS began_us
FROM seriatim.cursor AS c
WHERE c.process_name = $1
ORDER BY c.renamed_to IS NOT NULL OR c.lanes <> $3::integer
             OR coalesce(c.created_at <> $4::timestamptz, false) DESC,
         c.lane = $2::integer DESC
LIMIT 1
