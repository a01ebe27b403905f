WITH inserted AS (
    INSERT INTO t (key, payload)
    SELECT 'big', repeat('x', 300) FROM generate_series(1, {rows})
    RETURNING id
)
SELECT count(*) FROM inserted;
