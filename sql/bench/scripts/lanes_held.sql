SELECT count(*) FROM seriatim.cursor WHERE process_name = '{process}' AND holder IS NOT NULL
