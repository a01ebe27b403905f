CREATE TABLE IF NOT EXISTS bookings (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    customer_id bigint NOT NULL,
    phone       text NOT NULL,
    starts_at   timestamptz NOT NULL,
    status      text NOT NULL DEFAULT 'booked',
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX IF NOT EXISTS bookings_created_at ON bookings (created_at, id);
CREATE OR REPLACE TRIGGER bookings_hint AFTER INSERT ON bookings
    FOR EACH STATEMENT EXECUTE FUNCTION seriatim.hint();
