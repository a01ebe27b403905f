(t.{created_at}, t.{id}) > ({after_at}, {after_id})
