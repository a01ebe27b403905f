-- Can the server still evaluate it on this table?
SELECT ({expression})::boolean FROM {table} AS t LIMIT 0
