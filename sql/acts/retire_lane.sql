-- What a renamed process leaves behind, so that nobody begins again under its name.
-- $1 the old name  $2 lane  $3 the new name, whose cursor was the old one's  $4 what happened  $5 who
-- $6 why  $7 what to do
INSERT INTO seriatim.cursor
    (process_name, lane, lanes, position_at, position_id, sequence, set_aside, epoch, identity, created_at,
     state, renamed_to, reason, detail)
SELECT $1, c.lane, c.lanes, c.position_at, c.position_id, c.sequence, c.set_aside, c.epoch, c.identity,
       c.created_at, 'retired', $3, 'CONFIG_CHANGED',
       concat($4::text, ' at ', to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS"Z"'),
              ' by ', coalesce($5::text, session_user::text), ' (' || $6::text || ')', ': ', $7::text)
FROM seriatim.cursor AS c
WHERE c.process_name = $3 AND c.lane = $2::integer
RETURNING pg_notify('seriatim_control', process_name)
