$23::bigint IS NOT NULL
