-- Row $4 of process $1 was shown. $2 to whom  $3 why
INSERT INTO seriatim.journal (process_name, act, who, why, row_id)
VALUES ($1, 'reveal', coalesce($2, session_user::text), $3, $4)
RETURNING id
