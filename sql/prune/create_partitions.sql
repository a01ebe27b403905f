SELECT name FROM seriatim.create_partitions() AS name
