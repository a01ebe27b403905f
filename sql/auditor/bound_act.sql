-- Each further statement of this transaction may take so many ms.
SELECT set_config('statement_timeout', $1, true)
