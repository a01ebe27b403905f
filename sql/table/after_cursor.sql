-- $3, $4 the cursor  $5 settled: strictly below  $6 nothing waits below this
(t.{created_at}, t.{id}) > ($3::timestamptz, $4::{id_type})
  AND t.{created_at} < $5::timestamptz AND t.{created_at} >= $6::timestamptz
