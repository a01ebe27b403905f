SELECT seriatim.append($1, $2, $3, $4::json, $5::jsonb)
