-- Of each lane with rows that go out before those after its cursor: the first of them, and whether any goes out late
-- because a person decided so. As store/due_rows.sql, for all lanes at once.
-- $1 process  $2 lanes
SELECT DISTINCT ON (due.lane) due.lane, due.row_id, due.begun, bool_or(due.old) OVER (PARTITION BY due.lane) AS old
FROM (
    SELECT CASE WHEN a.parked_at IS NULL THEN a.lane
           ELSE (a.key_hash % $2::bigint + $2::bigint) % $2::bigint END AS lane,
           a.row_id, a.number, a.begun, a.late AND a.parked_at IS NULL AS old
    FROM seriatim.aside AS a
    WHERE a.process_name = $1 AND a.state = 'due'
) AS due
ORDER BY due.lane, due.begun DESC, due.number
