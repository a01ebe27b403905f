-- $1 rows of about 300 bytes, in one transaction.
INSERT INTO events (key, payload)
SELECT 'customer-' || n % 1000,
       json_build_object('number', n, 'text', 'booked', 'filler', repeat('x', 200))
FROM generate_series(1, $1::bigint) AS n
