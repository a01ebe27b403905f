TRUNCATE model, plain
