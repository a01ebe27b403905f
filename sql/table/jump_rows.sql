-- Puts the rows a lane jumps into its ledger, in closed buckets of $7 rows after the open one.
-- $1 process  $2 lane  $3, $4 after this position  $5, $6 up to and with this one
WITH jumped AS (
    SELECT t.{id}::text AS id, {created_at_utc} AS at, row_number() OVER (ORDER BY {place}) AS number
    FROM {table} AS t
    WHERE ($3::timestamptz IS NULL OR ({place}) > ({place:$3,$4}))
      AND ($5::timestamptz IS NULL OR ({place}) <= ({place:$5,$6}))
      AND ({where}) AND {lane_filter}
), buckets AS (
    SELECT max(number) AS last, count(*) AS rows, array_agg(id ORDER BY number) AS ids,
           (array_agg(at ORDER BY number DESC))[1] AS to_at, (array_agg(id ORDER BY number DESC))[1] AS to_id,
           bit_xor(hashtextextended(id, 0)) AS hash, max(at) FILTER (WHERE isfinite(at)) AS newest_at
    FROM jumped
    GROUP BY (number - 1) / $7::bigint
), noted AS (
    INSERT INTO seriatim.ledger
        (process_name, lane, lanes, number, from_at, from_id, to_at, to_id, rows, hash, ids, newest_at)
    SELECT c.process_name, c.lane, c.lanes, c.sequence + b.last,
           CASE WHEN b.last > b.rows THEN lag(b.to_at) OVER previous ELSE c.position_at END,
           CASE WHEN b.last > b.rows THEN lag(b.to_id) OVER previous ELSE c.position_id END,
           b.to_at, b.to_id, b.rows, b.hash, b.ids, b.newest_at
    FROM buckets AS b
    JOIN seriatim.cursor AS c ON c.process_name = $1 AND c.lane = $2::integer
    WINDOW previous AS (ORDER BY b.last)
)
SELECT count(*) FROM jumped
