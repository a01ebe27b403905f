-- Rows of a range of positions. The range: $1, $2 after this position  $3, $4 up to this one
-- $5 but those of this partition (oid); NULL: all
SELECT t.{id}::text AS id, hashtextextended(t.{id}::text, 0) AS hash
FROM {table} AS t
WHERE {within} AND ({where}) AND {lane_filter} AND ($5::oid IS NULL OR t.tableoid <> $5::oid)
