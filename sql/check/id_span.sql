-- The newest id of the table, if the sequence itself may not be read.
SELECT max(t.{id}) FROM {table} AS t
