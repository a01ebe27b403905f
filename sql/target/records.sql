-- What `:records` stands for in a statement over a whole batch: its rows in the order of the lane. What is
-- made here is made only where the statement names it. $8: the process
(SELECT b.sequence, b.id, b.key, b.event_type, b.payload, b.headers,
        timestamptz 'epoch' + b.created_us * interval '1 microsecond' AS created_at,
        ($8::text[])[1] || ':' || b.id AS idempotency_key
 FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[])
     AS b (sequence, id, key, event_type, payload, headers, created_us)
 ORDER BY b.sequence)
