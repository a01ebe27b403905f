-- As drop_partition.sql; what was in it stays as a table of its own.
ALTER TABLE {table} DETACH PARTITION {partition}
