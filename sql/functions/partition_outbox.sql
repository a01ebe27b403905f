-- Makes seriatim.outbox a table partitioned by created_at, while it is empty and no process has a cursor on
-- it; what was granted on it, its indexes and triggers, and the next id are kept. Where it is partitioned
-- already, the next partitions get this step. The default partition takes what there is no partition
-- for, so that no insert ever fails for want of one.
CREATE OR REPLACE FUNCTION seriatim.partition_outbox(step text) RETURNS SETOF text
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    former  oid := 'seriatim.outbox'::regclass;
    rebuild text[];
    next_id bigint;
    line    text;
BEGIN
    IF step IS NULL OR step NOT IN ('hourly', 'daily', 'monthly') THEN
        RAISE EXCEPTION 'partition_outbox: step (%) must be hourly, daily or monthly', step
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF (SELECT relkind FROM pg_class WHERE oid = former) <> 'p' THEN
        LOCK TABLE seriatim.outbox IN ACCESS EXCLUSIVE MODE;
        IF EXISTS (SELECT FROM seriatim.outbox)
           OR EXISTS (SELECT FROM seriatim.cursor WHERE identity ->> 'table_oid' = former::text) THEN
            RAISE EXCEPTION 'seriatim.outbox holds rows, or a process has a cursor on it: it can be partitioned only before it is used (docs/retention.md says how to move to a partitioned one later)'
                USING ERRCODE = 'feature_not_supported';
        END IF;
        SELECT array_agg(statement) INTO rebuild FROM (
            SELECT pg_get_indexdef(i.indexrelid) AS statement
            FROM pg_index AS i WHERE i.indrelid = former AND NOT i.indisprimary
            UNION ALL
            SELECT pg_get_triggerdef(t.oid) FROM pg_trigger AS t WHERE t.tgrelid = former AND NOT t.tgisinternal
            UNION ALL
            SELECT format('GRANT %s ON seriatim.outbox TO %s%s', g.privilege_type,
                          CASE WHEN g.grantee = 0 THEN 'PUBLIC' ELSE g.grantee::regrole::text END,
                          CASE WHEN g.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END)
            FROM pg_class AS c CROSS JOIN aclexplode(c.relacl) AS g
            WHERE c.oid = former AND g.grantee <> c.relowner
            UNION ALL
            SELECT format('GRANT %s (%I) ON seriatim.outbox TO %s%s', g.privilege_type, a.attname,
                          CASE WHEN g.grantee = 0 THEN 'PUBLIC' ELSE g.grantee::regrole::text END,
                          CASE WHEN g.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END)
            FROM pg_attribute AS a CROSS JOIN aclexplode(a.attacl) AS g
            WHERE a.attrelid = former AND NOT a.attisdropped
        ) AS kept;
        next_id := nextval(pg_get_serial_sequence('seriatim.outbox', 'id'));
        CREATE TABLE seriatim.outbox_new (
            LIKE seriatim.outbox INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING IDENTITY,
            PRIMARY KEY (id, created_at)
        ) PARTITION BY RANGE (created_at);
        DROP TABLE seriatim.outbox;
        ALTER TABLE seriatim.outbox_new RENAME TO outbox;
        ALTER SEQUENCE seriatim.outbox_new_id_seq RENAME TO outbox_id_seq;
        ALTER INDEX seriatim.outbox_new_pkey RENAME TO outbox_pkey;
        PERFORM setval('seriatim.outbox_id_seq', next_id, false);
        FOREACH line IN ARRAY rebuild LOOP
            EXECUTE line;
        END LOOP;
        CREATE TABLE seriatim.outbox_default PARTITION OF seriatim.outbox DEFAULT;
    END IF;
    INSERT INTO seriatim.partitioning (table_name, step, ahead)
    VALUES ('seriatim.outbox', partition_outbox.step,
            CASE partition_outbox.step WHEN 'hourly' THEN 48 WHEN 'daily' THEN 14 ELSE 3 END)
    ON CONFLICT (table_name) DO UPDATE SET step = EXCLUDED.step, ahead = EXCLUDED.ahead;
    RETURN QUERY SELECT * FROM seriatim.create_partitions();
END $$;
