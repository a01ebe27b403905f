-- Is there a relation $1, and may we read it?
SELECT coalesce(has_table_privilege(to_regclass($1), 'SELECT'), false)
