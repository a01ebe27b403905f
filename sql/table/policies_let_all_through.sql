-- Of table c: a permissive policy `USING (true)` for our role, and no restrictive one, hides nothing.
EXISTS (
    SELECT FROM pg_policy AS p
    WHERE p.polrelid = c.oid AND p.polcmd IN ('r', '*') AND p.polpermissive
      AND pg_get_expr(p.polqual, p.polrelid) = 'true'
      AND EXISTS (SELECT FROM unnest(p.polroles) AS role
                  WHERE role = 0 OR pg_has_role(role, 'USAGE'))
) AND NOT EXISTS (
    SELECT FROM pg_policy AS p
    WHERE p.polrelid = c.oid AND p.polcmd IN ('r', '*') AND NOT p.polpermissive
)
