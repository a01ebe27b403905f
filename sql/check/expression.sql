-- Does the server understand it? A WHERE clause refuses what a row's value cannot be: aggregates,
-- window functions, sets. With a parameter the server also refuses a second statement.
SELECT FROM {table} AS t
WHERE (
{expression}
)::{type} IS NOT NULL
LIMIT $1
