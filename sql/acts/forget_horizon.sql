-- Lane $2 goes back to the place $3, $4 (NULL: before the first row): rows below the horizon are to come again,
-- if there are any.
UPDATE seriatim.horizon AS h
SET at = NULL, id = NULL
WHERE h.process_name = $1 AND h.lane = $2::integer
  AND ($3::timestamptz IS NULL OR ({place:h.at,h.id}) > ({place:$3,$4}))
