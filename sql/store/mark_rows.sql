-- For tables whose dashboards live on a "dispatched" column: stamped with the cursor, or not at all.
UPDATE {table} AS t SET {delivered_at} = clock_timestamp() WHERE t.{id} = ANY ($1::{id_type}[])
