-- As sealed_by_created_at.sql, in the order of an identity column.
SELECT l.rows - l.pruned_rows AS rows, l.hash # l.pruned_hash AS hash,
       now_there.rows AS rows_there, now_there.hash AS hash_there
FROM seriatim.ledger AS l
CROSS JOIN LATERAL (
    SELECT count(*) AS rows, coalesce(bit_xor(hashtextextended(t.{id}::text, 0)), 0) AS hash
    FROM {table} AS t
    WHERE t.{id} >= coalesce(l.from_id::bigint, -9223372036854775808)
      AND (l.from_id IS NULL OR t.{id} > l.from_id::bigint)
      AND t.{id} <= l.to_id::bigint
      AND ({where})
      AND (l.lanes = 1 OR coalesce((hashtextextended(({key})::text, 0) % l.lanes + l.lanes) % l.lanes, 0) = $2::integer)
) AS now_there
WHERE l.process_name = $1 AND l.lane = $2::integer AND l.number = $3::bigint
