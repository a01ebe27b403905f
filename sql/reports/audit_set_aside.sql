SELECT count(DISTINCT row_id)
FROM seriatim.journal
WHERE process_name = $1 AND lane = $2::integer AND act IN ('skip', 'discard')
