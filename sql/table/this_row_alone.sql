t.{id} = $7::{id_type}
