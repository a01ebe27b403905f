SELECT coalesce(sum(sequence), 0) FROM seriatim.cursor;
