SELECT process_name, lane, is_back, what FROM {schema}.odd_step ORDER BY at
