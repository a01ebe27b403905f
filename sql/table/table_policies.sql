-- Does row-level security apply to our role on table $1, and does it hide rows?
SELECT row_security_active(c.oid) AS policed,
       row_security_active(c.oid) AND NOT ({policies_let_all_through}) AS hides_rows,
       quote_ident(current_user) AS role
FROM pg_class AS c
WHERE c.oid = $1::oid
