WITH inserted AS (
    INSERT INTO t (key, payload)
    SELECT n % {keys}, repeat('x', 300) FROM generate_series({first}, {last}) AS n
    RETURNING id
)
SELECT min(id) || ' ' || max(id) FROM inserted;
