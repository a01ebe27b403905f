SELECT DISTINCT process_name FROM seriatim.cursor ORDER BY process_name LIMIT 50
