-- The act that passed a row over, if one did and the row did not come again since. $1 process  $2 the row's id
-- $3 … as an integer, if it is one
SELECT p.entry::text AS number
FROM seriatim.passed_over AS p
WHERE p.process_name = $1 AND ($2::text = ANY (p.ids) OR $3::bigint <@ p.ranges)
ORDER BY p.number DESC
LIMIT 1
