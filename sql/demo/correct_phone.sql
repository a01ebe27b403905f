UPDATE bookings SET phone = $2 WHERE id = $1;
