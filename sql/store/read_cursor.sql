SELECT (extract(epoch FROM position_at) * 1000000)::bigint AS position_us, position_id,
       sequence, handed_to, set_aside, ahead::text AS ahead, epoch, state, attempts, crashes, reason, detail, failed_id, holder, lease_until::text, lease_ms,
       coalesce(hold_until > clock_timestamp(), false) AS held,
       ceil(extract(epoch FROM next_attempt_at - clock_timestamp()) * 1000)::bigint AS retry_ms,
       (extract(epoch FROM barrier_at) * 1000000)::bigint AS barrier_us, barrier_id,
       (SELECT count(*) FROM seriatim.aside AS a WHERE a.process_name = $1 AND a.head AND a.retry_at IS NULL) AS parked,
       (SELECT count(*) FROM seriatim.aside AS a WHERE a.process_name = $1 AND a.head AND a.retry_at IS NOT NULL) AS held_keys,
       (extract(epoch FROM created_at) * 1000000)::bigint AS began_us
FROM seriatim.cursor
WHERE process_name = $1 AND lane = $2::integer
