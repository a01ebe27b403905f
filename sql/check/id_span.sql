-- The newest id of the table, where the sequence itself may not be looked at.
SELECT max(t.{id}) FROM {table} AS t
