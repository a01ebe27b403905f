-- What concerns a relay and is in none of its lanes: with how many configurations processes $1 run ($2 ms: a relay
-- that was seen last before that is gone), and which replication slot keeps most of the log.
SELECT (SELECT count(DISTINCT r.config_hash)
        FROM seriatim.relay AS r
        WHERE r.processes && $1::text[]
          AND r.seen_at > clock_timestamp() - $2::bigint * interval '1 millisecond') AS configurations,
       slot.name AS slot, slot.bytes
FROM (VALUES (1)) AS one (row)
LEFT JOIN LATERAL (
    SELECT s.slot_name AS name, pg_wal_lsn_diff(pg_current_wal_lsn(), s.restart_lsn)::bigint AS bytes
    FROM pg_replication_slots AS s
    WHERE s.restart_lsn IS NOT NULL AND s.wal_status IS DISTINCT FROM 'lost'
    ORDER BY s.restart_lsn
    LIMIT 1
) AS slot ON true
