SELECT process_name, lane, coalesce(position_id, ''), sequence, epoch, state,
       coalesce(reason, ''), coalesce(detail, '')
FROM seriatim.cursor
WHERE starts_with(process_name, $1)
ORDER BY process_name, lane
