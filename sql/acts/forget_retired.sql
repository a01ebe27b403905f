-- The name $1 is used again, by the process that took it over as $2 and now has it back.
DELETE FROM seriatim.cursor WHERE process_name = $1 AND state = 'retired' AND renamed_to = $2
