-- Rows of the event types passed over on purpose are not the process's. Folded into `where`.
({where}) AND (({event_type})::text IS NULL OR ({event_type})::text <> ALL ({ignored}::text[]))
