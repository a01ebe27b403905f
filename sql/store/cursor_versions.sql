-- Changes with every change of a cursor of process $1, or of its lane $2, and not with a lock.
SELECT string_agg(ctid::text || ' ' || xmin::text, ',' ORDER BY lane)
FROM seriatim.cursor WHERE process_name = $1 AND ($2::integer IS NULL OR lane = $2::integer)
