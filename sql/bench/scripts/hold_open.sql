SELECT pg_sleep({seconds}) \g /dev/null
