-- Retires the former names of processes that an older version renamed. That version left no cursor row under
-- the old name, but the journal has the act. Without such a row, a relay with an old configuration is refused as
-- if its cursor had been deleted, and the advice it gets would deliver every row again.
WITH renamed AS (  -- the last time each name was given up
    SELECT DISTINCT ON (j.detail->>'from', j.lane)
           j.detail->>'from' AS name, j.lane, j.process_name AS renamed_to, j.at, j.who, j.why
    FROM seriatim.journal AS j
    WHERE j.act = 'adopt' AND j.detail->>'from' IS NOT NULL
    ORDER BY j.detail->>'from', j.lane, j.id DESC
), unused AS (
    SELECT r.*, max(r.lane) OVER (PARTITION BY r.name) + 1 AS lanes
    FROM renamed AS r
    WHERE NOT EXISTS (SELECT FROM seriatim.cursor AS c WHERE c.process_name = r.name)
      AND EXISTS (SELECT FROM seriatim.cursor AS c WHERE c.process_name = r.renamed_to
                  UNION ALL
                  SELECT FROM renamed AS n WHERE n.name = r.renamed_to)
)
INSERT INTO seriatim.cursor (process_name, lane, lanes, created_at, state, renamed_to, reason, detail)
SELECT name, lane, lanes, max(at) OVER (PARTITION BY name), 'retired', renamed_to, 'CONFIG_CHANGED',
       concat('process "', name, '" was renamed to "', renamed_to, '" at ',
              to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS"Z"'), ' by ', who, ' (' || why || ')',
              ': set name = "', renamed_to, '" in the configuration; or take it back: ',
              'seriatim adopt ''', replace(name, '''', '''\'''''), ''' --from ''', replace(renamed_to, '''', '''\'''''), '''')
FROM unused;
