INSERT INTO seriatim.audit_report (process_name, who, sound, rows, hash, through_at, through_id, detail)
VALUES ($1, $2, $3::boolean, $4::bigint, $5, $6::timestamptz, $7, $8)
