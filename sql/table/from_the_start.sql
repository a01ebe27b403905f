($3::timestamptz IS NULL AND $4::{id_type} IS NULL)
