-- Whether all of a partition may go, and by which rows it is known again. $1 rows that stay  $2 older than
-- $3 rows that no process delivers too
SELECT count(*) AS rows, coalesce(bit_xor(hashtextextended(t.{id}::text, 0)), 0) AS hash,
       coalesce(bool_and(({below}) AND ({free}) AND ($3::boolean OR ({delivered})) AND t.{id}::text <> ALL ($1::text[])
                         AND coalesce(isfinite({created_at_utc}) AND {created_at_utc} < $2::timestamptz, false)),
                true) AS free
FROM {partition} AS t
