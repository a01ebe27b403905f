-- $1 consumer, $2 event_id
SELECT seriatim.inbox_once($1, $2)
