-- What is so now, against the alerts that are open: opens, keeps, resolves, and asks for messages to be sent.
-- $1 the processes that are judged; '': what concerns none
-- $2 what is seen: [{"process", "lane", "kind", "certain", "summary", "body"}, …]. "certain" false: it could not be
--    read, so an alert on it is neither opened nor resolved
-- $3 an alert that stays open is sent again after so many ms  $4 one that nobody sees for so many ms is resolved
WITH seen AS MATERIALIZED (
    SELECT *
    FROM jsonb_to_recordset($2::jsonb)
         AS s (process text, lane integer, kind text, certain boolean, summary text, body jsonb)
), opened AS (
    INSERT INTO seriatim.alert (process_name, lane, kind, summary, body)
    SELECT s.process, s.lane, s.kind, s.summary, s.body::json
    FROM seen AS s
    WHERE s.certain
      AND NOT EXISTS (SELECT FROM seriatim.alert AS a
                      WHERE a.process_name = s.process AND a.lane = s.lane AND a.kind = s.kind
                        AND a.resolved_at IS NULL)
    ON CONFLICT (process_name, lane, kind) WHERE resolved_at IS NULL DO NOTHING
    RETURNING process_name, lane, kind, summary
), again AS (
    -- It stays open, or is about another row by now ("subject").
    UPDATE seriatim.alert AS a
    SET clear_since = NULL, turn = a.turn + 1, summary = s.summary, body = s.body::json, tries = 0,
        next_try_at = clock_timestamp()
    FROM seen AS s
    WHERE a.process_name = s.process AND a.lane = s.lane AND a.kind = s.kind AND a.resolved_at IS NULL
      AND s.certain AND a.accepted = a.turn
      AND (a.accepted_at < clock_timestamp() - $3::bigint * interval '1 millisecond'
           OR a.body->>'subject' IS DISTINCT FROM s.body->>'subject')
    RETURNING a.id
), kept AS (
    UPDATE seriatim.alert AS a
    SET clear_since = NULL
    FROM seen AS s
    WHERE a.process_name = s.process AND a.lane = s.lane AND a.kind = s.kind AND a.resolved_at IS NULL
      AND a.clear_since IS NOT NULL
      AND NOT EXISTS (SELECT FROM again WHERE again.id = a.id)
), clearing AS (
    UPDATE seriatim.alert AS a
    SET clear_since = clock_timestamp()
    WHERE a.process_name = ANY ($1::text[]) AND a.resolved_at IS NULL AND a.clear_since IS NULL
      AND NOT EXISTS (SELECT FROM seen AS s
                      WHERE s.process = a.process_name AND s.lane = a.lane AND s.kind = a.kind)
), resolved AS (
    -- A message that is being sent keeps its lease, so that it cannot arrive after this one.
    UPDATE seriatim.alert AS a
    SET resolved_at = clock_timestamp(), turn = a.turn + 1, tries = 0,
        next_try_at = CASE WHEN a.accepted < a.turn THEN a.next_try_at ELSE clock_timestamp() END
    WHERE a.process_name = ANY ($1::text[]) AND a.resolved_at IS NULL
      AND a.clear_since <= clock_timestamp() - $4::bigint * interval '1 millisecond'
      AND NOT EXISTS (SELECT FROM seen AS s
                      WHERE s.process = a.process_name AND s.lane = a.lane AND s.kind = a.kind)
    RETURNING a.process_name, a.lane, a.kind, a.summary
), journalled AS (
    INSERT INTO seriatim.journal (process_name, lane, act, who, why)
    SELECT o.process_name, nullif(o.lane, -1), 'alert', $5, o.kind || ': ' || o.summary FROM opened AS o
    UNION ALL
    SELECT r.process_name, nullif(r.lane, -1), 'alert over', $5, r.kind || ': ' || r.summary FROM resolved AS r
), gone AS (
    DELETE FROM seriatim.alert
    WHERE process_name = ANY ($1::text[]) AND resolved_at < clock_timestamp() - interval '30 days' AND accepted = turn
)
-- The table itself is seen as it was before.
SELECT EXISTS (SELECT FROM opened) OR EXISTS (SELECT FROM again) OR EXISTS (SELECT FROM resolved)
    OR EXISTS (SELECT FROM seriatim.alert WHERE accepted < turn AND process_name = ANY ($1::text[])) AS unsent,
       EXISTS (SELECT FROM seriatim.alert WHERE resolved_at IS NULL AND process_name = ANY ($1::text[])) AS open
