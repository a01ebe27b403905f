UPDATE tick SET n = n + 1;
