DELETE FROM seriatim.relay WHERE name = $1
