SELECT process_name, lane, unnest(ids) FROM seriatim.ledger WHERE starts_with(process_name, $1)
UNION ALL
SELECT process_name, lane, unnest(bucket_ids) FROM seriatim.cursor WHERE starts_with(process_name, $1)
