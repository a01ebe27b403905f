-- Holds every cursor row of a process for an operator's act, always in the same order. First of its
-- transaction, so it takes a literal.
SELECT lane
FROM seriatim.cursor
WHERE process_name = {process}
ORDER BY lane
FOR UPDATE
