CASE WHEN $23::bigint IS NOT NULL AND c.hold_until > now() THEN 'held' ELSE 'ours' END AS answer,
    CASE WHEN c.hold_until > now() THEN pg_notify('seriatim_control', c.process_name)::text END
