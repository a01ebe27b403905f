-- Everything behind the cursors of lanes $2 of process $1 was checked, $3 ms ago each. That need not survive a crash of
-- the server.
INSERT INTO seriatim.audited AS a (process_name, lane, passed_at)
SELECT $1, one.lane, clock_timestamp() - one.age * interval '1 millisecond'
FROM unnest($2::integer[], $3::bigint[]) AS one (lane, age)
ON CONFLICT (process_name, lane) DO UPDATE SET passed_at = EXCLUDED.passed_at
RETURNING set_config('synchronous_commit', 'off', true)
