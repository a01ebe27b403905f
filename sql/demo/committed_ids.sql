SELECT id FROM bookings WHERE status = 'booked' ORDER BY created_at, id;
