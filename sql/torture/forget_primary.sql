ALTER SYSTEM SET primary_conninfo = ''
