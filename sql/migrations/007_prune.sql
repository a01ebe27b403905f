-- What `seriatim prune` took away of the rows a bucket counts, noted in the transaction that deletes
-- them: the rest of the bucket can still be compared, also where it is sealed.
ALTER TABLE seriatim.ledger
    ADD COLUMN pruned_rows bigint NOT NULL DEFAULT 0,
    ADD COLUMN pruned_hash bigint NOT NULL DEFAULT 0;

-- Tables whose next partitions are created by seriatim: seriatim.outbox after `init --partitioned`.
CREATE TABLE seriatim.partitioning (
    table_name text PRIMARY KEY,
    step       text NOT NULL CHECK (step IN ('hourly', 'daily', 'monthly')),
    ahead      integer NOT NULL CHECK (ahead BETWEEN 1 AND 1000)  -- partitions after the current one
);

-- include functions/create_partitions.sql
-- include functions/partition_outbox.sql

REVOKE EXECUTE ON FUNCTION seriatim.create_partitions(), seriatim.partition_outbox(text) FROM PUBLIC;
