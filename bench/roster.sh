#!/usr/bin/env bash
# What one look of an instance at the others costs (sql/store/look_at_roster.sql), by lanes and by connections of the
# server, on a private server: processor time of the backend, and so the statements a second that is room for on one core.
#
#   bench/roster.sh PROGRAM [STATEMENT.sql]
#
# docs/scaling.md discusses the figures.
. "$(dirname "$0")/private_server.sh"
. "$(dirname "$0")/held_sessions.sh"
arguments 1 2 "$@"
program=$(program_at "$1")
statement=$(realpath "${2:-$(dirname "$0")/../sql/store/look_at_roster.sql}")
[ -r "$statement" ] || fail "there is no statement $statement"
start_server memory max_connections=1300
init_schema "$program"

# So many lanes over the sessions that are held, and one in ten of these an instance.
fill() { # LANES
  sql -c "TRUNCATE seriatim.cursor, seriatim.instance"
  sql -c "WITH held AS (SELECT pid, backend_start, row_number() OVER (ORDER BY pid) - 1 AS n FROM pg_stat_activity WHERE wait_event = 'PgSleep')
          INSERT INTO seriatim.cursor (process_name, lane, lanes, holder, holder_pid, holder_started, lease_until)
          SELECT 'p', lane, $1, 'host:' || pid % 100 || ':0123456789abcdef', pid, backend_start, now() + interval '1 hour'
          FROM generate_series(0, $1 - 1) AS lane JOIN held ON n = lane % (SELECT count(*) FROM held)"
  sql -c "INSERT INTO seriatim.instance SELECT 'p', 'host:' || pid || ':0123456789abcdef', $1, pid, backend_start, now() + interval '1 hour'
          FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND pid % 10 = 0"
  sql -c "VACUUM ANALYZE seriatim.cursor, seriatim.instance"
}

# Prepared, as the relay's is, and told nothing new.
look() { # LANES
  {
    echo "PREPARE look (text, text, text, text, text, text) AS"
    sed -e '/^--/d' "$statement"
    echo ';'
  } >"$folder/prepare.sql"
  echo "EXECUTE look ('p', 'host:me', '$1', NULL, '3000', 'false');" >"$folder/look.sql"
  microseconds "$folder/look.sql" 10 100 "$folder/prepare.sql"
}

echo "| connections | lanes | a look, µs |"
echo "|---|---|---|"
for connections in 10 100 1100; do
  hold "$connections" ""
  for lanes in 8 64 1000; do
    fill "$lanes"
    echo "| $connections | $lanes | $(look "$lanes") |"
  done
  release
done
