-- How sound the lanes of process $1 are known to be: of each lane the age of the latest complete audit, and in a row
-- without a lane what the latest `seriatim audit` of the process found.
--
-- For how long nobody went through all that is behind the cursor of a lane; of a lane that is held, and neither halted
-- nor paused. Its holder's session is the beginning if that is later: the lane was nobody's before. Behind a pooler
-- there is none; then it is the last claim.
SELECT c.lane,
       floor(extract(epoch FROM clock_timestamp() - greatest(a.passed_at, since.at)) * 1000)::bigint AS age_ms,
       NULL::boolean AS sound, NULL::bigint AS at_us, NULL::text AS detail
FROM seriatim.cursor AS c
JOIN seriatim.lanes AS l ON l.process_name = c.process_name AND l.lane = c.lane AND l.holder IS NOT NULL
LEFT JOIN seriatim.audited AS a ON a.process_name = c.process_name AND a.lane = c.lane
CROSS JOIN LATERAL (
    SELECT coalesce(c.holder_started,
                    (SELECT j.at
                     FROM seriatim.journal AS j
                     WHERE j.process_name = c.process_name AND j.lane = c.lane AND j.act = 'claim'
                     ORDER BY j.id DESC
                     LIMIT 1)) AS at
) AS since
WHERE c.process_name = $1 AND c.state IN ('running', 'retrying')
  AND greatest(a.passed_at, since.at) IS NOT NULL
UNION ALL
(SELECT NULL, NULL, sound, (extract(epoch FROM at) * 1000000)::bigint, detail
 FROM seriatim.audit_report
 WHERE process_name = $1
 ORDER BY id DESC
 LIMIT 1)
