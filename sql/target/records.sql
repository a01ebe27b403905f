-- What `:records` stands for in a statement over a whole batch: its rows in the order of the lane.
(SELECT *
 FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::timestamptz[],
             $8::text[])
     AS r (sequence, id, key, event_type, payload, headers, created_at, idempotency_key)
 ORDER BY sequence)
