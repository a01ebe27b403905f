-- Waits for everybody who uses the table, no longer than lock_timeout; those who come meanwhile wait as long.
DROP TABLE {partition}
