-- How far partitions of table $1 are created, where that is planned; whether the default one holds rows.
SELECT p.step, p.ahead,
       (SELECT count(*) FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
        WHERE i.inhparent = $1::oid
          AND substring(pg_get_expr(c.relpartbound, c.oid) FROM 'FROM \(''([^'']*)''\)')::timestamptz
              > clock_timestamp()) AS created_ahead,
       pg_relation_size('seriatim.outbox_default') > 0 AS default_used  -- until VACUUM cuts it
FROM seriatim.partitioning AS p
WHERE p.table_name::regclass = $1::oid
