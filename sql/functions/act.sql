-- The one way to change a cursor by an act: of a person, of the auditor, of `adopt`. All lanes named are changed, or none:
-- it locks them, compares, changes, journals before and after, and notifies. Whoever changes other tables with it does
-- so in the same transaction, with the lanes locked (lanes_in_call.sql).
--   changes   [{"lane": 0, "set": {column: value, …}, "row": "4711", "detail": {…}}, …]; a lane that is not there yet is
--             made, and one with "gone": true goes. "row" and "detail" are for the journal.
--   expected  what who acts has seen: [{"lane": 0, "epoch": 7, "row": "4711", "state": "halted", "attempts": 3}, …]. Each
--             may leave things out; without a lane it is about every lane that changes.
--   silent    as in lanes_in_call.sql
-- Answers the entries of the journal. A lane with a refusal instead is busy, or not as expected; then nothing was changed.
CREATE OR REPLACE FUNCTION seriatim.act(
    process text, what text, by_whom text, because text, changes jsonb, expected jsonb, silent jsonb
) RETURNS TABLE (lane integer, entry bigint, refusal text)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    of_lanes integer[] := ARRAY(SELECT (x->>'lane')::integer FROM jsonb_array_elements(changes) AS x);
    change   jsonb;
    columns  text;
    old      seriatim.cursor;
    new      seriatim.cursor;
    before   jsonb;
    after    jsonb;
BEGIN
    RETURN QUERY
    SELECT b.lane, NULL::bigint, b.holder || ' has been calling its handler for ' || b.called_ms || ' ms'
    FROM seriatim.lanes_in_call(process, of_lanes, silent) AS b
    UNION ALL
    SELECT c.lane, NULL::bigint,
           string_agg(format('its %s is %s, not %s', now.name, coalesce(now.value, 'none'),
                             coalesce(e->>now.name, 'none')), ', ' ORDER BY now.name)
    FROM seriatim.cursor AS c
    CROSS JOIN LATERAL (VALUES ('epoch', c.epoch::text), ('row', c.failed_id), ('state', c.state),
                               ('attempts', c.attempts::text)) AS now (name, value)
    JOIN jsonb_array_elements(expected) AS e
      ON e ? now.name AND (e->>now.name) IS DISTINCT FROM now.value
     AND coalesce((e->>'lane')::integer, c.lane) = c.lane
    WHERE c.process_name = process AND (c.lane = ANY (of_lanes) OR c.lane = (e->>'lane')::integer)
    GROUP BY c.lane;
    IF FOUND THEN
        RETURN;
    END IF;
    FOR change IN SELECT x FROM jsonb_array_elements(changes) AS x LOOP
        lane := (change->>'lane')::integer;
        SELECT c.* INTO old FROM seriatim.cursor AS c WHERE c.process_name = process AND c.lane = act.lane;
        new := NULL;
        IF (change->>'gone')::boolean THEN
            DELETE FROM seriatim.cursor AS c WHERE c.process_name = process AND c.lane = act.lane;
        ELSE
            INSERT INTO seriatim.cursor (process_name, lane, lanes)
            VALUES (process, lane, coalesce(old.lanes, (change->'set'->>'lanes')::integer))
            ON CONFLICT DO NOTHING;
            SELECT string_agg(quote_ident(key), ', ') INTO columns FROM jsonb_object_keys(change->'set') AS key;
            EXECUTE format('UPDATE seriatim.cursor AS c'
                           ' SET (%1$s) = (SELECT %1$s FROM jsonb_populate_record(c, $1))'
                           ' WHERE c.process_name = $2 AND c.lane = $3 RETURNING c.*', columns)
                INTO STRICT new USING change->'set', process, lane;
        END IF;
        SELECT jsonb_object_agg(key, o.value), jsonb_object_agg(key, n.value) INTO before, after
        FROM jsonb_each(to_jsonb(old)) AS o (key, value) JOIN jsonb_each(to_jsonb(new)) AS n (key, value) USING (key)
        WHERE o.value <> n.value AND key <> 'updated_at' AND key NOT LIKE 'bucket%';
        INSERT INTO seriatim.journal
            (process_name, lane, act, who, why, epoch, position_at, position_id, row_id, detail)
        VALUES (coalesce(new.process_name, process), lane, what, coalesce(by_whom, session_user::text), because,
                coalesce(old.epoch, new.epoch), old.position_at, old.position_id, change->>'row',
                jsonb_strip_nulls(coalesce(change->'detail', '{}')
                                  || jsonb_build_object('before', before, 'after', after)))
        RETURNING id INTO entry;
        PERFORM pg_notify('seriatim_control', coalesce(new.process_name, process));
        RETURN NEXT;
    END LOOP;
END $$;
