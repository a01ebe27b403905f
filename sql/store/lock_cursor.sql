-- The first statement of the transaction that is lent to a handler; sent with its BEGIN. Prepared if the backend is our
-- own (planning it anew cost 85 of 345 µs of a commit a row), else with literals.
-- A cursor that was deleted and made anew can have the same epoch, so created_at is compared too.
SELECT 1
FROM seriatim.cursor
WHERE process_name = {process} AND lane = {lane} AND epoch = {epoch} AND call_epoch = epoch
  AND created_at = {began}::timestamptz
  AND position_at IS NOT DISTINCT FROM {position_at}::timestamptz
  AND position_id IS NOT DISTINCT FROM {position_id}::text
  AND state IN ('running', 'retrying')
FOR UPDATE
