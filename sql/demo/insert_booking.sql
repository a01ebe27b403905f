INSERT INTO bookings (customer_id, phone, starts_at)
VALUES ($1, $2, date_trunc('hour', clock_timestamp()) + interval '1 day')
RETURNING id;
