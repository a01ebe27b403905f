-- Does the row come after the cursor, and behind how many of its lane, rows of a batch that goes on included? Compared
-- as columns, so that texts sort as in the table.
-- $1, $2 cursor  $3 the row  $4 counted no further; 0: not at all  $5 process  $6 lane
SELECT ($1::timestamptz IS NULL OR ({place:r.at,r.id}) > ({place:$1,$2})) AS after_cursor,
       (SELECT count(*) FROM (
            SELECT FROM {table} AS t
            WHERE ($1::timestamptz IS NULL OR ({place}) > ({place:$1,$2}))
              AND ({place}) < ({place:r.at,r.id})
              AND ({where}) AND {lane_filter}
            LIMIT $4::bigint
        ) AS earlier)
       + (SELECT count(*) FROM seriatim.aside AS a
          WHERE a.process_name = $5 AND a.lane = $6::integer AND a.begun
            AND (($1::timestamptz IS NOT NULL AND ({place:a.position_at,a.row_id}) <= ({place:$1,$2}))
                 OR ({place:a.position_at,a.row_id}) > ({place:r.at,r.id}))) AS rows_before
FROM (SELECT t.{created_at} AS at, t.{id} AS id FROM {table} AS t
      WHERE t.{id} = $3::{id_type} ORDER BY t.{created_at} DESC NULLS LAST LIMIT 1) AS r
