-- How many alerts on processes $1 are open.
SELECT count(*) FROM seriatim.alert WHERE resolved_at IS NULL AND process_name = ANY ($1::text[])
