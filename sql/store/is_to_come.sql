-- Whether time $1 is still to come.
SELECT $1::timestamptz > clock_timestamp() AS to_come
