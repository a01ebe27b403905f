-- Whether process $1 has delivered all there is.
SELECT (SELECT coalesce(sum(sequence), 0) FROM seriatim.cursor WHERE process_name = $1)
       >= (SELECT count(*) FROM events)
