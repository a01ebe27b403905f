SELECT lane, holder, called_ms FROM seriatim.lanes_in_call($1, $2::integer[], $3::jsonb)
