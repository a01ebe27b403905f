SELECT NULL AS number, bucket_at AS from_at, bucket_id AS from_id,
       seriatim.ledger_list(bucket_ids, bucket_ranges) AS ids
FROM seriatim.cursor
WHERE process_name = $1 AND lane = $2::integer
