-- The server ends its recovery and takes writes, under a new timeline. False if it has not within a minute.
SELECT pg_promote(true, 60)
