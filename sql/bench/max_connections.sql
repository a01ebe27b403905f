SELECT current_setting('max_connections')
