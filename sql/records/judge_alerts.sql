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
), kept AS (
    UPDATE seriatim.alert AS a
    SET clear_since = NULL,
        turn = a.turn + CASE WHEN due.again THEN 1 ELSE 0 END,
        summary = CASE WHEN due.again THEN s.summary ELSE a.summary END,
        body = CASE WHEN due.again THEN s.body::json ELSE a.body END,
        tries = CASE WHEN due.again THEN 0 ELSE a.tries END,
        next_try_at = CASE WHEN due.again THEN clock_timestamp() ELSE a.next_try_at END
    FROM seen AS s
    CROSS JOIN LATERAL (VALUES ($3::bigint * interval '1 millisecond')) AS pause (time)
    CROSS JOIN LATERAL (
        SELECT s.certain AND b.accepted = b.turn AND b.accepted_at < clock_timestamp() - pause.time AS again
        FROM seriatim.alert AS b
        WHERE b.process_name = s.process AND b.lane = s.lane AND b.kind = s.kind AND b.resolved_at IS NULL
    ) AS due
    WHERE a.process_name = s.process AND a.lane = s.lane AND a.kind = s.kind AND a.resolved_at IS NULL
      AND (a.clear_since IS NOT NULL OR due.again AND a.accepted = a.turn)
    RETURNING a.accepted < a.turn AS unsent
), clearing AS (
    UPDATE seriatim.alert AS a
    SET clear_since = coalesce(a.clear_since, clock_timestamp()),
        resolved_at = over.at,
        turn = a.turn + CASE WHEN over.at IS NULL THEN 0 ELSE 1 END,
        tries = CASE WHEN over.at IS NULL THEN a.tries ELSE 0 END,
        next_try_at = coalesce(over.at, a.next_try_at)
    FROM (SELECT b.id, CASE WHEN b.clear_since <= clock_timestamp() - $4::bigint * interval '1 millisecond'
                            THEN clock_timestamp() END AS at
          FROM seriatim.alert AS b
          WHERE b.process_name = ANY ($1::text[]) AND b.resolved_at IS NULL
            AND NOT EXISTS (SELECT FROM seen AS s
                            WHERE s.process = b.process_name AND s.lane = b.lane AND s.kind = b.kind)
         ) AS over
    WHERE a.id = over.id AND a.resolved_at IS NULL AND (a.clear_since IS NULL OR over.at IS NOT NULL)
    RETURNING a.process_name, a.lane, a.kind, a.summary, a.resolved_at
), journalled AS (
    INSERT INTO seriatim.journal (process_name, lane, act, who, why)
    SELECT o.process_name, nullif(o.lane, -1), 'alert', $5, o.kind || ': ' || o.summary FROM opened AS o
    UNION ALL
    SELECT c.process_name, nullif(c.lane, -1), 'alert over', $5, c.kind || ': ' || c.summary
    FROM clearing AS c WHERE c.resolved_at IS NOT NULL
), gone AS (
    DELETE FROM seriatim.alert
    WHERE process_name = ANY ($1::text[]) AND resolved_at < clock_timestamp() - interval '30 days' AND accepted = turn
)
-- Of what was changed here, the last two lines see what it was before.
SELECT EXISTS (SELECT FROM opened) OR EXISTS (SELECT FROM clearing WHERE resolved_at IS NOT NULL)
    OR EXISTS (SELECT FROM kept WHERE unsent)
    OR EXISTS (SELECT FROM seriatim.alert WHERE accepted < turn AND process_name = ANY ($1::text[])) AS unsent,
       EXISTS (SELECT FROM seen)
    OR EXISTS (SELECT FROM seriatim.alert WHERE resolved_at IS NULL AND process_name = ANY ($1::text[])) AS open
