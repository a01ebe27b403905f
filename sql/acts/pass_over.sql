-- Rows $4 of lane $2, the last of which is at $5, $6, were passed over by entry $3 of the journal.
INSERT INTO seriatim.passed_over (process_name, lane, entry, ids, to_at, to_id)
VALUES ($1, $2::integer, $3::bigint, $4::text[], $5::timestamptz, $6)
