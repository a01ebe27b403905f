-- How long pg_partman keeps partitions of table $1.
SELECT p.retention
FROM partman.part_config AS p
WHERE p.retention IS NOT NULL AND to_regclass(p.parent_table) = $1::oid
