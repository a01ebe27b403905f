-- Values as text, so that no number passes through a double on its way.
CASE WHEN ({raw_headers}) IS NOT NULL THEN (
    SELECT json_agg(json_build_array(h.key, h.value))::text
    FROM jsonb_each_text(CASE WHEN ({raw_headers})::jsonb <> 'null' THEN ({raw_headers})::jsonb END) AS h)
END
