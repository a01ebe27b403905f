(t.{created_at}, t.{id}) > ($3::timestamptz, $4::{id_type})
