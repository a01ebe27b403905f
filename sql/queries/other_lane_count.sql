-- How many lanes this process was cut into, where that is not $2.
SELECT lanes FROM seriatim.cursor WHERE process_name = $1 AND lanes <> $2::integer LIMIT 1
