-- $1 consumer, $2 age in seconds, $3 rows at most
SELECT seriatim.inbox_prune($1, $2::bigint * interval '1 second', $3::integer)
