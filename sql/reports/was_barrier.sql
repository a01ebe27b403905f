-- Were the lanes cut anew at position $3, $4? Then buckets of another number of lanes than $2 end there.
SELECT EXISTS (
    SELECT FROM seriatim.ledger
    WHERE process_name = $1 AND lanes <> $2::integer
      AND to_at = $3::timestamptz AND to_id = $4)
