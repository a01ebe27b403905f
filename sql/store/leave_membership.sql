DELETE FROM seriatim.instance WHERE process_name = $1 AND holder = $2
