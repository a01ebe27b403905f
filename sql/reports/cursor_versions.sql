-- Changes with every change of a cursor, and not with a lock.
SELECT string_agg(ctid::text || ' ' || xmin::text, ',' ORDER BY lane) FROM seriatim.cursor WHERE process_name = $1
