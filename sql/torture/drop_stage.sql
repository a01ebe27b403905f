-- CASCADE takes the trigger on seriatim.cursor along: its function lives in the schema.
DROP SCHEMA IF EXISTS {schema} CASCADE;
DELETE FROM seriatim.cursor WHERE starts_with(process_name, '{prefix}');
DELETE FROM seriatim.journal WHERE starts_with(process_name, '{prefix}');
