-- Which of the ids $2 go out before the rows after a cursor, or wait for a person: they are neither delivered nor late.
SELECT a.row_id AS id
FROM seriatim.aside AS a
WHERE a.process_name = $1 AND a.row_id = ANY ($2::text[]) AND a.state IN ('due', 'parked', 'queued')
