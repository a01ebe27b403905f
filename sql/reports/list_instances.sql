SELECT holder, lanes, held,
       floor(extract(epoch FROM clock_timestamp() - seen_at) * 1000)::bigint AS seen_ms
FROM seriatim.instances
WHERE process_name = $1
ORDER BY holder
