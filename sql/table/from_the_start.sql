-- The same without a cursor: $3 and $4 are NULL.
($3::timestamptz IS NULL AND $4::{id_type} IS NULL)
  AND t.{created_at} < $5::timestamptz AND t.{created_at} >= $6::timestamptz
