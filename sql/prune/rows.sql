-- Deletes those of the rows $1, created from $2 to $3, that may still go.
DELETE FROM {table} AS t
WHERE t.{id} = ANY ($1::{id_type}[]) AND t.{created_at} BETWEEN $2::timestamptz AND $3::timestamptz
  AND ({below}) AND ({free})
