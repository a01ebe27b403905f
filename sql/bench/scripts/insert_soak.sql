WITH written AS (
    INSERT INTO soak (key, payload)
    SELECT 'k' || (random() * 500)::int, repeat('x', {size}) FROM generate_series(1, {rows})
    RETURNING id
)
INSERT INTO witness SELECT id FROM written;
