-- How far a process has come in this database; written in the transaction of its rows.
CREATE TABLE IF NOT EXISTS seriatim_position (
    process_name text        NOT NULL,
    lane         integer     NOT NULL,
    sequence     bigint      NOT NULL,
    id           text,
    epoch        bigint      NOT NULL,
    updated_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (process_name, lane)
)
