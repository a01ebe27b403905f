SELECT lane, entry, refusal FROM seriatim.act($1, $2, $3, $4, $5::jsonb, $6::jsonb, $7::jsonb)
