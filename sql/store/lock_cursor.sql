-- The first statement of the transaction that is lent to a handler; sent with its BEGIN. Prepared if the backend is our
-- own: planning it anew cost 85 of 345 µs of a commit a row.
-- $1, $2 the lane  $3 its epoch  $4, $5 the cursor's position  $6 when the process began
-- A cursor that was deleted and made anew can have the same epoch, so created_at is compared too.
SELECT 1
FROM seriatim.cursor
WHERE process_name = $1 AND lane = $2::integer AND epoch = $3::bigint AND call_epoch = epoch
  AND created_at = $6::timestamptz
  AND position_at IS NOT DISTINCT FROM $4::timestamptz
  AND position_id IS NOT DISTINCT FROM $5::text
  AND state IN ('running', 'retrying')
FOR UPDATE
