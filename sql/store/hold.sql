SELECT seriatim.hold($1, $2::integer[], $3, $4::bigint)
