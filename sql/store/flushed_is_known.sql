-- Whether rows_are_durable.sql may be asked here. A server whose log is kept by a storage of its own means
-- something else by these numbers, or refuses.
SELECT pg_current_wal_flush_lsn() <= pg_current_wal_insert_lsn()
       AND to_regproc('pg_catalog.aurora_version') IS NULL
       AND to_regproc('aurora_version') IS NULL
