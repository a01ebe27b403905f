-- Each further statement of this transaction may wait so many ms for a lock.
SELECT set_config('lock_timeout', '{ms}', true)
