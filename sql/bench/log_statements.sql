ALTER DATABASE {name} SET log_statement = 'all'
