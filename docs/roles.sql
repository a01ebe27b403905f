-- What the relay's role needs, and nothing else. As the owner of the table and of schema seriatim:
--   psql -d DATABASE -v role=relay -v table=public.bookings -f docs/roles.sql
GRANT USAGE ON SCHEMA seriatim TO :"role";
GRANT SELECT, INSERT, UPDATE, DELETE ON seriatim.cursor TO :"role";
GRANT SELECT, INSERT, UPDATE, DELETE ON seriatim.ledger TO :"role";
GRANT SELECT, INSERT, UPDATE, DELETE ON seriatim.aside, seriatim.instance TO :"role";
GRANT SELECT, INSERT, UPDATE, DELETE ON seriatim.history, seriatim.alert, seriatim.relay TO :"role";
GRANT SELECT, INSERT ON seriatim.audit_report TO :"role";
GRANT SELECT, INSERT, UPDATE ON seriatim.audited TO :"role";
GRANT SELECT, INSERT, UPDATE, DELETE ON seriatim.horizon, seriatim.passed_over TO :"role";
GRANT SELECT, INSERT ON seriatim.journal TO :"role";
GRANT SELECT ON seriatim.migration, seriatim.parked, seriatim.lanes, seriatim.instances TO :"role";
GRANT SELECT ON :table TO :"role";
-- Has the next partitions of a partitioned seriatim.outbox created, and takes no arguments.
GRANT SELECT ON seriatim.partitioning TO :"role";
GRANT EXECUTE ON FUNCTION seriatim.create_partitions() TO :"role";
