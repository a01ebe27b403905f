-- For consumers: which events each of them has taken, noted in the transaction of their effect. A
-- consumer's database needs nothing of the relay's tables.
CREATE TABLE seriatim.inbox (
    consumer    text NOT NULL CHECK (octet_length(consumer) BETWEEN 1 AND 63),
    event_id    text NOT NULL CHECK (octet_length(event_id) BETWEEN 1 AND 1000),
    received_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (consumer, event_id)
);
-- The oldest of a consumer, to be forgotten first.
CREATE INDEX inbox_received_at ON seriatim.inbox (consumer, received_at);

-- include functions/inbox_once.sql
-- include functions/inbox_prune.sql
