-- Nobody asks whether the rows seen are durable.
SELECT false
