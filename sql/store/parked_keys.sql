-- Keys whose rows queue.
SELECT key FROM seriatim.aside WHERE process_name = $1 AND head AND holds_key
