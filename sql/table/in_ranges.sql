r.id::bigint <@ noted.ranges
