-- Rows that the cursor passed, and those of them that are set aside and still to be delivered.
SELECT process_name, sum(passed), sum(aside)
FROM (
    SELECT process_name, count(id) AS passed, 0 AS aside
    FROM (
        SELECT process_name, seriatim.ledger_ids(ids, ranges) AS id FROM seriatim.ledger
        WHERE starts_with(process_name, $1)
        UNION ALL
        SELECT process_name, seriatim.ledger_ids(bucket_ids, bucket_ranges) FROM seriatim.cursor
        WHERE starts_with(process_name, $1)
    ) AS noted
    GROUP BY process_name
    UNION ALL
    SELECT process_name, 0, count(*) FROM seriatim.aside WHERE starts_with(process_name, $1) GROUP BY process_name
) AS counts
GROUP BY process_name
