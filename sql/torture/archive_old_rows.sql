-- Deletes rows every cursor of this run ($1) left behind two seconds ago, but for those that are set aside;
-- $2: name of the table
WITH behind AS (
    SELECT min(coalesce(position_at, '-infinity')) - interval '2 seconds' AS before
    FROM seriatim.cursor WHERE starts_with(process_name, $1)
), gone AS (
    DELETE FROM {table}
    WHERE id IN (SELECT t.id FROM {table} AS t, behind
                 WHERE t.created_at < behind.before
                   AND NOT EXISTS (SELECT FROM seriatim.aside AS a
                                   WHERE starts_with(a.process_name, $1) AND a.row_id = t.id::text)
                 ORDER BY t.created_at, t.id LIMIT 1000)
    RETURNING id, key, payload, created_at
)
INSERT INTO {archive} (table_name, id, key, payload, created_at)
SELECT $2, id, key, payload::text, created_at FROM gone
