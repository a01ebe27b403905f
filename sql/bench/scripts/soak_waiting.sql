SELECT (SELECT count(*) FROM witness) - coalesce((SELECT sum(sequence) FROM seriatim.cursor), 0)
