-- How many rows go out before row $2, if it goes out although it is not after the cursor, and was not parked.
SELECT (SELECT count(*)
        FROM seriatim.aside AS b
        WHERE b.process_name = a.process_name AND b.lane = a.lane AND b.state = 'due' AND b.parked_at IS NULL
          AND (NOT b.begun, b.number) < (NOT a.begun, a.number)) AS rows_before
FROM seriatim.aside AS a
WHERE a.process_name = $1 AND a.row_id = $2 AND a.state = 'due' AND a.parked_at IS NULL
