-- Whether all of a partition may still go, and by which rows it is known again. $1 rows that stay
SELECT count(*) AS rows, coalesce(bit_xor(hashtextextended(t.{id}::text, 0)), 0) AS hash,
       coalesce(bool_and(({below}) AND ({free}) AND t.{id}::text <> ALL ($1::text[])), true) AS free
FROM {partition} AS t
