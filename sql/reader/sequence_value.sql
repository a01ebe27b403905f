-- The last id drawn; NULL where there is no sequence or we may not read it. Before the first draw:
-- one below the start.
SELECT CASE WHEN has_sequence_privilege(s.seqrelid, 'USAGE, SELECT')
            THEN coalesce(pg_sequence_last_value(s.seqrelid), s.seqstart - 1) END
FROM pg_sequence AS s
WHERE s.seqrelid = pg_get_serial_sequence($1, $2)::regclass
