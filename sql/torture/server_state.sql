SELECT current_setting('server_version'),
       current_setting('max_prepared_transactions')::integer > 0,
       has_table_privilege('seriatim.cursor', 'TRIGGER'),
       to_regclass('seriatim.ledger') IS NOT NULL,
       to_regnamespace('{schema}') IS NOT NULL
