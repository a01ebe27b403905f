#!/usr/bin/env bash
# What one look of an instance at the others costs (sql/queries/look_at_roster.sql), by lanes and by connections of the
# server, on a private server: processor time of the backend, and the statements a second that is room for on one core.
#
#   bench/roster.sh PROGRAM [STATEMENT.sql]
#
# docs/scaling.md discusses the figures.
set -euo pipefail
program=$(realpath "$1") statement=${2:-$(dirname "$0")/../sql/queries/look_at_roster.sql}
bin=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -1)
folder=$(mktemp -d /dev/shm/seriatim-bench-XXXXXX)
port=$((20000 + RANDOM % 20000))
if [ "$(id -u)" -eq 0 ]; then chown postgres "$folder"; as=(runuser -u postgres --); else as=(); fi
chmod 755 "$folder"
"${as[@]}" "$bin/initdb" -D "$folder/data" -A trust -U postgres >/dev/null
"${as[@]}" "$bin/pg_ctl" -D "$folder/data" -w -o "-p $port -k $folder -c max_connections=1300" -l "$folder/log" start >/dev/null
trap '"${as[@]}" "$bin/pg_ctl" -D "$folder/data" -m immediate stop >/dev/null; rm -rf "$folder"' EXIT
url="host=$folder port=$port user=postgres dbname=postgres"
sql() { "$bin/psql" -X -q -A -t -v ON_ERROR_STOP=1 -d "$url" -c "$1"; }
DATABASE_URL=$url "$program" init >/dev/null

# So many connections that hold a lane each, as far as there are lanes, and one in ten of them an instance.
hold() {
  echo 'SELECT pg_sleep(600);' >"$folder/hold.sql"
  "$bin/pgbench" -n -M simple -c "$1" -j 1 -t 1 -f "$folder/hold.sql" "$url" >/dev/null 2>&1 &
  holding=$!
  until [ "$(sql "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'")" -eq "$1" ]; do sleep 0.2; done
}

release() {
  kill "$holding"
  wait "$holding" 2>/dev/null || true
  sql "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'" >/dev/null
  until [ "$(sql "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'")" -eq 0 ]; do sleep 0.2; done
}

fill() {
  sql "TRUNCATE seriatim.cursor, seriatim.instance"
  sql "WITH held AS (SELECT pid, backend_start, row_number() OVER (ORDER BY pid) - 1 AS n FROM pg_stat_activity WHERE wait_event = 'PgSleep')
       INSERT INTO seriatim.cursor (process_name, lane, lanes, holder, holder_pid, holder_started, lease_until)
       SELECT 'p', lane, $1, 'host:' || pid % 100 || ':0123456789abcdef', pid, backend_start, now() + interval '1 hour'
       FROM generate_series(0, $1 - 1) AS lane JOIN held ON n = lane % (SELECT count(*) FROM held)"
  sql "INSERT INTO seriatim.instance SELECT 'p', 'host:' || pid || ':0123456789abcdef', $1, pid, backend_start, now() + interval '1 hour'
       FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND pid % 10 = 0"
  sql "VACUUM ANALYZE seriatim.cursor, seriatim.instance"
}

# Prepared, as the relay's is: the mean of 100 looks that tell nothing, after 10.
microseconds() {
  {
    echo "PREPARE look (text, text, text, text, text, text) AS"
    sed -e '/^--/d' "$statement"
    echo ';'
    echo 'SELECT pg_backend_pid() AS pid \gset'
    for _ in $(seq 10); do echo "EXECUTE look ('p', 'host:me', '$1', NULL, '3000', 'false');"; done
    echo '\set before `cat /proc/:pid/schedstat`'
    for _ in $(seq 100); do echo "EXECUTE look ('p', 'host:me', '$1', NULL, '3000', 'false');"; done
    echo '\set after `cat /proc/:pid/schedstat`'
    echo '\warn :before :after'
  } >"$folder/session.sql"
  "$bin/psql" -X -q -o /dev/null -d "$url" -f "$folder/session.sql" 2>&1 | awk '{ print int(($4 - $1) / 100000) }'
}

echo "| connections | lanes | a look, µs |"
echo "|---|---|---|"
for connections in 10 100 1100; do
  hold "$connections"
  for lanes in 8 64 1000; do
    fill "$lanes"
    echo "| $connections | $lanes | $(microseconds "$lanes") |"
  done
  release
done
