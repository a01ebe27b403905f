-- Which of the rows $2 a process delivers, and where its ledger counts each: the bucket that notes its
-- id, else the one of its lane then that it belongs in. Not there: `where` leaves it out. Below the horizon of a lane
-- no row was left.
-- $1 process  $3, $4 the first and the last of their times, or of their ids in that order
WITH rows AS MATERIALIZED (
    SELECT t.{id}::text AS id, {created_at_utc} AS at, t.{id} AS number, hashtextextended(({key})::text, 0) AS hash
    FROM {table} AS t
    WHERE t.{id} = ANY ($2::{id_type}[]) AND {lead} BETWEEN $3::{lead_type} AND $4::{lead_type} AND ({where})
), near AS MATERIALIZED (
    SELECT l.lane, l.lanes, l.number, l.from_at, l.from_id, l.to_at, l.to_id, l.ids, l.ranges
    FROM seriatim.ledger AS l
    WHERE l.process_name = $1 AND {lead:l.to_at,l.to_id} >= $3::{lead_type}
      AND (l.from_id IS NULL OR {lead:l.from_at,l.from_id} <= $4::{lead_type})
    UNION ALL
    SELECT c.lane, c.lanes, NULL, c.bucket_at, c.bucket_id, c.position_at, c.position_id, c.bucket_ids,
           c.bucket_ranges
    FROM seriatim.cursor AS c
    WHERE c.process_name = $1 AND c.position_id IS NOT NULL
), noted AS (
    SELECT DISTINCT ON (n.id) n.id, n.lane, n.number
    FROM (SELECT lane, number, seriatim.ledger_ids(ids, ranges) AS id FROM near) AS n
    ORDER BY n.id, n.number
), present AS (
    SELECT DISTINCT ON (r.id) r.id, n.lane, n.number, n.ids IS NULL AS sealed
    FROM rows AS r
    CROSS JOIN (SELECT DISTINCT lanes FROM near) AS cut
    JOIN near AS n
      ON n.lanes = cut.lanes
     AND n.lane = coalesce((r.hash % cut.lanes + cut.lanes) % cut.lanes, 0)
     AND (n.from_id IS NULL OR ({place:n.from_at,n.from_id}) < ({place:r.at,r.number}))
     AND ({place:r.at,r.number}) <= ({place:n.to_at,n.to_id})
    WHERE NOT EXISTS (SELECT FROM noted AS d WHERE d.id = r.id)
    ORDER BY r.id, n.number
)
SELECT r.id, coalesce(d.lane, s.lane) AS lane, coalesce(d.number, s.number) AS number,
       d.id IS NOT NULL AS noted, s.id IS NOT NULL AS present, coalesce(s.sealed, false) AS sealed,
       EXISTS (SELECT FROM seriatim.horizon AS h
               WHERE h.process_name = $1 AND h.id IS NOT NULL
                 AND ({place:r.at,r.number}) <= ({place:h.at,h.id})) AS below_horizon
FROM rows AS r
LEFT JOIN noted AS d ON d.id = r.id
LEFT JOIN present AS s ON s.id = r.id
