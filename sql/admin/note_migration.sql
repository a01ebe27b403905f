INSERT INTO seriatim.migration (version, name) VALUES ({version}, {name})
