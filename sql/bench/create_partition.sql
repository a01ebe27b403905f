CREATE TABLE events_{number} PARTITION OF events FOR VALUES FROM ({from}) TO ({to})
