-- Is seriatim.outbox partitioned by us, and may this role have its next partitions created?
SELECT coalesce((SELECT c.relkind = 'p' FROM pg_class AS c WHERE c.oid = to_regclass('seriatim.outbox')), false) AS planned,
       coalesce(has_function_privilege(to_regprocedure('seriatim.create_partitions()'), 'EXECUTE'), false) AS may_create
