-- Rows every cursor of this run ($1) left behind two seconds ago.
WITH behind AS (
    SELECT min(coalesce(position_at, '-infinity')) - interval '2 seconds' AS before
    FROM seriatim.cursor WHERE starts_with(process_name, $1)
)
UPDATE {table} SET touched = touched + 1
WHERE id IN (SELECT t.id FROM {table} AS t, behind
             WHERE t.created_at < behind.before ORDER BY t.created_at, t.id LIMIT 300)
