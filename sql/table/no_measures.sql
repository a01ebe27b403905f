-- In the place of what rows_within_bytes.sql measures of each row.
, NULL::bigint AS payload_bytes, NULL::bigint AS other_bytes, NULL::boolean AS late, NULL::bigint AS found
