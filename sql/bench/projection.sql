INSERT INTO model SELECT r.id::bigint, r.payload::json ->> 'text' FROM :records AS r
