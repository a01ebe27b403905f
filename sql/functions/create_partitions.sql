-- Creates the partitions of seriatim.outbox that are missing for now and the time ahead; answers their
-- names. For a role that owns nothing, so it runs with the owner's rights and takes no arguments.
-- ATTACH leaves inserts and reads of the other partitions alone (CREATE … PARTITION OF would lock the whole
-- table); the default one is locked and searched, and holds rows only if creation fell behind. A
-- range it holds rows of stays with it.
CREATE OR REPLACE FUNCTION seriatim.create_partitions() RETURNS SETOF text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET TimeZone = 'UTC'
SET lock_timeout = '200ms' AS $$
DECLARE
    plan  seriatim.partitioning;
    unit  text;
    lower timestamptz;
    upper timestamptz;
    name  text;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('seriatim.partitions', 0));
    SELECT * INTO plan FROM seriatim.partitioning WHERE table_name = 'seriatim.outbox';
    IF NOT FOUND THEN RETURN; END IF;
    unit := CASE plan.step WHEN 'hourly' THEN 'hour' WHEN 'daily' THEN 'day' ELSE 'month' END;
    lower := date_trunc(unit, clock_timestamp());
    FOR n IN 0 .. plan.ahead LOOP
        upper := lower + ('1 ' || unit)::interval;
        name := 'outbox_' || to_char(lower, CASE plan.step WHEN 'hourly' THEN 'YYYYMMDDHH24'
                                                           WHEN 'daily' THEN 'YYYYMMDD'
                                                           ELSE 'YYYYMM' END);
        IF to_regclass('seriatim.' || name) IS NULL
           AND NOT EXISTS (SELECT FROM seriatim.outbox_default AS d
                           WHERE d.created_at >= lower AND d.created_at < upper) THEN
            BEGIN
                EXECUTE format('CREATE TABLE seriatim.%I (LIKE seriatim.outbox INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', name);
                EXECUTE format('ALTER TABLE seriatim.outbox ATTACH PARTITION seriatim.%I FOR VALUES FROM (%L) TO (%L)',
                               name, lower, upper);
                RETURN NEXT name;
            EXCEPTION WHEN invalid_object_definition THEN  -- a partition of another step is there
            END;
        END IF;
        lower := upper;
    END LOOP;
END $$;
