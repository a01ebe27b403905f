SELECT process_name, lane, seriatim.ledger_ids(ids, ranges) FROM seriatim.ledger WHERE starts_with(process_name, $1)
UNION ALL
SELECT process_name, lane, seriatim.ledger_ids(bucket_ids, bucket_ranges) FROM seriatim.cursor WHERE starts_with(process_name, $1)
