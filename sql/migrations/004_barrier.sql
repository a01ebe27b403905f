-- While lanes are being cut anew no row after this position is handed over (NULL: no barrier).
ALTER TABLE seriatim.cursor
    ADD COLUMN barrier_at timestamptz,
    ADD COLUMN barrier_id text,
    ADD CHECK (num_nulls(barrier_at, barrier_id) IN (0, 2));
