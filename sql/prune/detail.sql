-- $1 table  $2 older than  $3 rows, NULL: not known yet  $4 partitions
SELECT jsonb_strip_nulls(jsonb_build_object('table', $1::text, 'older_than', $2::timestamptz, 'rows', $3::bigint,
                                            'partitions', to_jsonb($4::text[])))::text
