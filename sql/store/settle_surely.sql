-- settle.sql in a transaction that writes more than the cursor: fails (division by zero) if the lane is no longer ours,
-- so that a COMMIT in the same message keeps nothing of what was written with it.
WITH moved AS (
    {settle}
)
SELECT CASE count(*) WHEN 0 THEN {refused} ELSE min(answer) END AS answer FROM moved
