-- Holds every cursor row of a process for an operator's act, or one for the auditor's, always in the same
-- order. First of its transaction, so it takes literals.
SELECT lane
FROM seriatim.cursor
WHERE process_name = {process} AND {lane}
ORDER BY lane
FOR UPDATE
