-- Rows of lane $2 that go out late because a person decided so, if they are before $3 (NULL: all).
SELECT count(*) AS rows, (extract(epoch FROM min(a.position_at)) * 1000000)::bigint AS oldest_us
FROM seriatim.aside AS a
WHERE a.process_name = $1 AND a.lane = $2::integer AND a.state = 'due' AND a.late AND a.parked_at IS NULL
  AND ($3::timestamptz IS NULL OR a.position_at < $3::timestamptz)
