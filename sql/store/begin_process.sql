-- The cursors of a process that has none, all lanes at once: lane 0 decides who of several makes them.
-- Nothing answered: another was first. What an earlier process of this name has noted is forgotten.
-- $1 process  $2 lanes  $3, $4 the row each lane begins after, NULL: before the first
-- $5 the identity, NULL: not known yet  $6 act  $7 who  $8 why  $9 `start`, as configured
WITH place AS (
    SELECT lane - 1 AS lane, at, id
    FROM unnest($3::timestamptz[], $4::text[]) WITH ORDINALITY AS u (at, id, lane)
), first AS (
    INSERT INTO seriatim.cursor
        (process_name, lane, lanes, position_at, position_id, bucket_at, bucket_id, looked_at, identity,
         created_at)
    SELECT $1, lane, $2::integer, at, id, at, id, at, $5::jsonb, statement_timestamp()
    FROM place
    WHERE lane = 0 AND NOT EXISTS (SELECT FROM seriatim.cursor AS c WHERE c.process_name = $1)
    ON CONFLICT DO NOTHING
    RETURNING process_name
), others AS (
    INSERT INTO seriatim.cursor
        (process_name, lane, lanes, position_at, position_id, bucket_at, bucket_id, looked_at, identity,
         created_at)
    SELECT f.process_name, p.lane, $2::integer, p.at, p.id, p.at, p.id, p.at, $5::jsonb, statement_timestamp()
    FROM place AS p, first AS f
    WHERE p.lane > 0
), forgotten AS (
    DELETE FROM seriatim.ledger AS l USING first AS f WHERE l.process_name = f.process_name
), no_horizon AS (
    DELETE FROM seriatim.horizon AS h USING first AS f WHERE h.process_name = f.process_name
), nothing_passed_over AS (
    DELETE FROM seriatim.passed_over AS o USING first AS f WHERE o.process_name = f.process_name
), nothing_aside AS (
    DELETE FROM seriatim.aside AS a USING first AS f WHERE a.process_name = f.process_name
), journalled AS (
    INSERT INTO seriatim.journal (process_name, lane, act, who, why, epoch, position_at, position_id, detail)
    SELECT f.process_name, p.lane, $6::text, coalesce($7::text, session_user::text), $8::text, 0, p.at, p.id,
           jsonb_strip_nulls(jsonb_build_object('start', $9::text, 'adopted', $5::jsonb))
    FROM place AS p, first AS f
)
SELECT 1 FROM first
