SELECT c.lane, c.lanes, c.position_id,
       c.position_at > clock_timestamp() AS is_in_the_future,
       c.position_at, c.renamed_to IS NOT NULL AS retired, c.detail
FROM seriatim.cursor AS c
WHERE c.process_name = $1
ORDER BY c.lane
