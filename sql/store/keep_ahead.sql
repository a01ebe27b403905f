ahead = $24::jsonb,
