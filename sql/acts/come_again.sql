-- Rows of a lane of process $1 after the place $2, $3 (NULL: all) come again, so they are no longer passed over.
WITH one AS (
    SELECT p.number, id, EXISTS (
               SELECT FROM {table} AS t
               WHERE t.{id} = one.id::{id_type} AND {lane_filter}
                 AND ($2::timestamptz IS NULL OR ({place}) > ({place:$2,$3}))) AS again
    FROM seriatim.passed_over AS p
    CROSS JOIN LATERAL seriatim.ledger_ids(p.ids, p.ranges) AS one (id)
    WHERE p.process_name = $1
), left_over AS (
    SELECT number, coalesce(array_agg(id) FILTER (WHERE NOT again), '{}') AS ids
    FROM one
    GROUP BY number
    HAVING bool_or(again)
), none AS (
    DELETE FROM seriatim.passed_over AS p USING left_over AS l WHERE p.number = l.number AND l.ids = '{}'
)
UPDATE seriatim.passed_over AS p
SET ids = l.ids, ranges = '{}'
FROM left_over AS l
WHERE p.number = l.number AND l.ids <> '{}'
