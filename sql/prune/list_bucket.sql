-- A bucket that a prune has passed: from here on its rows may be deleted, and what of them is gone was pruned.
-- $1 process  $2 lane  $3 lanes  $4 number  $5, $6 from  $7, $8 to  $9, $10 the rows there, by ids and ranges
-- $11 pruned before  $12 gone before  $13 the newest created_at
INSERT INTO seriatim.ledger
    (process_name, lane, lanes, number, from_at, from_id, to_at, to_id, ids, ranges, rows, pruned, gone, newest_at)
VALUES ($1, $2::integer, $3::integer, $4::bigint, $5::timestamptz, $6, $7::timestamptz, $8, $9::text[],
        nullif($10::int8multirange, '{}'), seriatim.ledger_rows($9::text[], $10::int8multirange), $11::bigint,
        $12::bigint, $13::timestamptz)
