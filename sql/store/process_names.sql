SELECT DISTINCT process_name FROM seriatim.cursor WHERE renamed_to IS NULL ORDER BY process_name LIMIT 50
