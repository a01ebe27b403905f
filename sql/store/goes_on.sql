($23::bigint IS NOT NULL AND (c.hold_until IS NULL OR c.hold_until <= now()))
