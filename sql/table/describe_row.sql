-- Reads nothing: says whether the configured expressions are sound, and of which type the payload is.
SELECT ({raw_payload}) AS payload, ({key})::text, ({event_type})::text, ({raw_headers})::jsonb
FROM {table} AS t
WHERE ({where}) AND false
