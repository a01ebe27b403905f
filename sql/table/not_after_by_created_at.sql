({at}, {place_id}::{id_type}) <= ({bound_at}, {bound_id}::{id_type})
