SELECT set_config('application_name', $1, false),
       set_config('synchronous_commit', $2, false),
       set_config('default_transaction_isolation', 'read committed', false)
