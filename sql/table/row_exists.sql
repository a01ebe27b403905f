SELECT EXISTS (SELECT FROM {table} AS t WHERE t.{id} = $1::{id_type})
