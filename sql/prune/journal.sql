-- $1 processes  $2 act  $3 who  $4 why  $5 detail
INSERT INTO seriatim.journal (process_name, act, who, why, detail)
SELECT name, $2, coalesce($3::text, session_user::text), $4::text, $5::jsonb
FROM unnest($1::text[]) AS name
