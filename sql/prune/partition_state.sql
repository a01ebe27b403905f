-- Whether all of a partition may still go, and by which rows it is known again.
SELECT count(*) AS rows, coalesce(bit_xor(hashtextextended(t.{id}::text, 0)), 0) AS hash,
       coalesce(bool_and(({below}) AND ({free})), true) AS free
FROM {partition} AS t
