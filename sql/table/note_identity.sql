-- For a lane whose cursor has no identity yet, or lacks what can be known by now. Never over another.
UPDATE seriatim.cursor AS c
SET identity = coalesce(c.identity, '{}') || $4::jsonb
WHERE c.process_name = $1 AND c.lane = $2::integer AND c.epoch = $3::bigint
  AND NOT coalesce(c.identity @> $4::jsonb, false)
  AND NOT EXISTS (
      SELECT FROM jsonb_each_text(c.identity) AS noted
      JOIN jsonb_each_text($4::jsonb) AS seen ON seen.key = noted.key AND seen.value <> noted.value)
