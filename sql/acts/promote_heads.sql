-- The first row left of each key is its first, and waits for a person.
UPDATE seriatim.aside AS a
SET head = true, state = CASE a.state WHEN 'queued' THEN 'parked' ELSE a.state END
FROM (SELECT DISTINCT ON (key_hash, key) row_id
      FROM seriatim.aside
      WHERE process_name = $1 AND holds_key
      ORDER BY key_hash, key, number) AS first
WHERE a.process_name = $1 AND a.row_id = first.row_id AND NOT a.head
