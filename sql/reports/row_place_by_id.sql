-- Does the row come after the cursor, and behind how many of its lane?
-- $1 cursor  $2 the row  $3 counted no further; 0: not at all
SELECT $1::bigint IS NULL OR $2::bigint > $1::bigint AS after_cursor,
       (SELECT count(*) FROM (
            SELECT FROM {table} AS t
            WHERE ($1::bigint IS NULL OR t.{id} > $1::bigint)
              AND t.{id} < $2::bigint
              AND ({where}) AND {lane_filter}
            LIMIT $3::bigint
        ) AS earlier) AS rows_before
