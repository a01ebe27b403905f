CREATE TABLE tick (n bigint);
INSERT INTO tick VALUES (0);
