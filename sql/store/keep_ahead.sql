ahead = $24::jsonb,
    -- How far late rows were searched for, as in start_attempt.sql: those found are set aside with this.
    looked_at = CASE WHEN $25::timestamptz IS NULL THEN c.looked_at
                ELSE least(coalesce(nullif($25::timestamptz, '-infinity'), c.looked_at, c.position_at), $6::timestamptz) END,
