-- A process that was renamed leaves its rows behind, in state 'retired', so that nobody begins again
-- under the old name. The new name:
ALTER TABLE seriatim.cursor ADD COLUMN renamed_to text;

-- When the process began, the same for all of its lanes: a relay knows by it that a row was made anew.
UPDATE seriatim.cursor AS c
SET created_at = began.at
FROM (SELECT process_name, min(created_at) AS at FROM seriatim.cursor GROUP BY process_name) AS began
WHERE c.process_name = began.process_name AND c.created_at <> began.at;

-- All lanes of a process have their rows from its beginning, so one that is missing was deleted. Lanes
-- that were never claimed get theirs now.
INSERT INTO seriatim.cursor (process_name, lane, lanes, created_at)
SELECT p.process_name, u.lane, p.lanes, p.began
FROM (SELECT process_name, lanes, min(created_at) AS began
      FROM seriatim.cursor GROUP BY process_name, lanes) AS p
CROSS JOIN LATERAL generate_series(0, p.lanes - 1) AS u (lane)
WHERE NOT EXISTS (SELECT FROM seriatim.journal AS j
                  WHERE j.process_name = p.process_name AND j.lane = u.lane AND j.act = 'claim')
ON CONFLICT DO NOTHING;

-- include functions/keep_cursor.sql
-- include views/lanes.sql
