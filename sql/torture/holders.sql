SELECT holder FROM seriatim.cursor
WHERE starts_with(process_name, $1) AND holder IS NOT NULL
ORDER BY process_name, lane
