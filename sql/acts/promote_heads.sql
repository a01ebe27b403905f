-- The first row left of each key is its first.
UPDATE seriatim.parked AS p
SET head = true
FROM (SELECT DISTINCT ON (key_hash, key) row_id
      FROM seriatim.parked
      WHERE process_name = $1 AND holds_key
      ORDER BY key_hash, key, number) AS first
WHERE p.process_name = $1 AND p.row_id = first.row_id AND NOT p.head
