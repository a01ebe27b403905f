SELECT process_name, lane, epoch, (extract(epoch FROM at) * 1000000)::bigint
FROM seriatim.journal
WHERE starts_with(process_name, $1) AND act = 'claim'
ORDER BY id
