-- Text that reads as an integer: the column was one when the row was noted.
CASE WHEN noted.ranges = '{}' OR r.id !~ '^(0|-?[1-9][0-9]*)$' THEN false
     WHEN r.id::numeric NOT BETWEEN -9223372036854775808 AND 9223372036854775806 THEN false
     ELSE r.id::bigint <@ noted.ranges END
