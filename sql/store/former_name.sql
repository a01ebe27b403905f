-- Whose cursors were renamed to those of process $1.
SELECT process_name FROM seriatim.cursor WHERE renamed_to = $1 LIMIT 1
