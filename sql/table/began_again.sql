-- Do ids begin again? Then rows behind the cursor have ids that were delivered, and nobody would miss them. Asked once a
-- statement; NULL: nothing speaks for it. A sequence that was set and not used since has no value yet.
-- $5, $6 the cursor: created_at and id  $7 an id that was drawn
coalesce(
    (SELECT CASE WHEN has_sequence_privilege(s.oid, 'USAGE, SELECT') AND pg_sequence_last_value(s.oid) < $7::bigint
            THEN 'its sequence goes on after ' || pg_sequence_last_value(s.oid) END
     FROM (SELECT pg_get_serial_sequence({table_text}, {id_text})::regclass::oid AS oid OFFSET 0) AS s),
    (SELECT CASE WHEN {created_at_utc} > $5::timestamptz AND isfinite({created_at_utc})
            THEN 'its row ' || t.{id} || ' was created at ' || {created_at_utc}
                 || ', and the row delivered under that id at ' || ($5::timestamptz AT TIME ZONE 'UTC') END
     FROM {table} AS t
     WHERE t.{id} BETWEEN $6::bigint AND $6::bigint  -- a range is read along its index, whatever the statistics say
     ORDER BY t.{id}
     LIMIT 1)) AS began_again
