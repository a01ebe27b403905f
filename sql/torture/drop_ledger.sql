DELETE FROM seriatim.ledger WHERE starts_with(process_name, '{prefix}');
