({place_id}::bigint <= {bound_id}::bigint AND ({at} IS NULL OR {bound_at} IS NULL OR true))
