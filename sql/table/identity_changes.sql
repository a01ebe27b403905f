-- In what the identity noted with each cursor of process $1 differs from $2, what is seen now. What
-- either side does not know is no difference.
SELECT noted.key, noted.value AS noted, seen.value AS seen
FROM seriatim.cursor AS c
CROSS JOIN LATERAL jsonb_each_text(c.identity) AS noted
JOIN jsonb_each_text($2::jsonb) AS seen ON seen.key = noted.key AND seen.value <> noted.value
WHERE c.process_name = $1
  AND ($3::integer IS NULL OR c.lane = $3::integer)
ORDER BY c.lane, noted.key
