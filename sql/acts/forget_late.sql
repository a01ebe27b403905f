-- What halted lane $2 as late waits for a person no more, nor does row $3 go out from here (NULL: only the former).
DELETE FROM seriatim.aside AS a
WHERE a.process_name = $1 AND a.parked_at IS NULL
  AND (a.row_id = $3 OR (a.lane = $2::integer AND a.state = 'late'))
