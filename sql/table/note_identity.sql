-- For a lane whose cursor has no identity yet, or lacks what can be known by now. Never over another; but expressions of
-- the configuration may be others, once it is known that no row behind the cursor is concerned. That is journalled.
WITH noted AS (
    SELECT c.*, EXISTS (
               SELECT FROM jsonb_each_text(c.identity) AS old
               JOIN jsonb_each_text($4::jsonb) AS seen ON seen.key = old.key AND seen.value <> old.value) AS changes
    FROM seriatim.cursor AS c
    WHERE c.process_name = $1 AND c.lane = $2::integer AND c.epoch = $3::bigint
      AND NOT coalesce(c.identity @> $4::jsonb, false)
      AND NOT EXISTS (
          SELECT FROM jsonb_each_text(c.identity) AS old
          JOIN jsonb_each_text($4::jsonb) AS seen ON seen.key = old.key AND seen.value <> old.value
          WHERE old.key NOT IN ('filter', 'key', 'payload'))
    FOR UPDATE
), journalled AS (
    INSERT INTO seriatim.journal
        (process_name, lane, act, who, why, epoch, position_at, position_id, detail)
    SELECT process_name, lane, 'source', coalesce(holder, '?'), 'the configuration was changed', epoch, position_at,
           position_id, jsonb_build_object('before', identity, 'after', $4::jsonb)
    FROM noted
    WHERE changes
)
UPDATE seriatim.cursor AS c
SET identity = coalesce(c.identity, '{}') || $4::jsonb
FROM noted AS n
WHERE c.process_name = n.process_name AND c.lane = n.lane
