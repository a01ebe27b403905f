-- Migrations name objects of pg_catalog without their schema, and find no others.
SET LOCAL search_path TO pg_catalog, pg_temp;
