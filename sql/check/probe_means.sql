-- What the probe may do: lock table $1 itself as a writer does, prepare a transaction.
SELECT has_table_privilege($1::oid, 'INSERT') OR has_table_privilege($1::oid, 'UPDATE')
           OR has_table_privilege($1::oid, 'DELETE') AS may_lock,
       row_security_active($1::oid) AS policed,
       current_setting('max_prepared_transactions')::integer > 0 AS may_prepare
