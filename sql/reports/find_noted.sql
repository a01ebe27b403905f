-- Where the ledger notes a row as delivered or set aside. $1 process  $2 the row's id  $3 … as an integer, if it is one
SELECT c.lane, NULL::text AS bucket, NULL::text AS closed_at
FROM seriatim.cursor AS c
WHERE c.process_name = $1 AND ($2::text = ANY (c.bucket_ids) OR $3::bigint <@ c.bucket_ranges)
UNION ALL
SELECT l.lane, l.number::text, to_char(l.closed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
FROM seriatim.ledger AS l
WHERE l.process_name = $1 AND ($2::text = ANY (l.ids) OR $3::bigint <@ l.ranges)
LIMIT 1
