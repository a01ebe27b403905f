-- How often a key was held, once for each time.
SELECT process_name, count(*)
FROM seriatim.journal
WHERE starts_with(process_name, $1) AND act = 'park' AND detail ->> 'retry_in_ms' IS NOT NULL
GROUP BY process_name
