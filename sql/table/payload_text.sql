({raw_payload})::text
