SELECT (SELECT count(*) FROM {table})
       + (SELECT count(*) FROM {archive} WHERE table_name = $1)
