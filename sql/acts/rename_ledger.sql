-- What belongs to the cursors of process $1 is of process $2 from now on.
WITH ledger AS (
    UPDATE seriatim.ledger SET process_name = $2 WHERE process_name = $1
), horizon AS (
    UPDATE seriatim.horizon SET process_name = $2 WHERE process_name = $1
), passed_over AS (
    UPDATE seriatim.passed_over SET process_name = $2 WHERE process_name = $1
)
UPDATE seriatim.aside SET process_name = $2 WHERE process_name = $1
