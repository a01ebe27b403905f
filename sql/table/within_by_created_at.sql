-- Row t comes after one place and not after another. Without the first it may be any row before that;
-- without an id the bound is the whole moment. The plain comparisons of created_at are what the index is entered by.
t.{created_at} >= coalesce({from_at}, '-infinity')
AND CASE WHEN {from_at} IS NULL THEN true
         WHEN {from_id} IS NULL THEN t.{created_at} > {from_at}
         ELSE (t.{created_at}, t.{id}) > ({from_at}, {from_id}::{id_type}) END
AND t.{created_at} <= {to_at}
AND ({to_id} IS NULL OR (t.{created_at}, t.{id}) <= ({to_at}, {to_id}::{id_type}))
AND isfinite(t.{created_at})
