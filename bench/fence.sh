#!/usr/bin/env bash
# What one look at the locks costs: sql/queries/lock_holders.sql against 1 … 500 connections that all
# hold the table and 1 … 64 partitions. Needs psql and pgbench of PostgreSQL's packages and a
# throwaway database of a server on this machine with max_connections above 510; leaves nothing behind:
#   bench/fence.sh postgresql://postgres@localhost/scratch
# docs/fence.md discusses the figures.
set -euo pipefail
url=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
query=$(dirname "$0")/../sql/queries/lock_holders.sql
sql() { psql -X -q -A -t -v ON_ERROR_STOP=1 -d "$url" -c "$1"; }

# Writers that have written one partition each and go on holding it.
hold() {
  echo 'BEGIN; INSERT INTO fence_bench (part) VALUES (:client_id % :partitions); SELECT pg_sleep(600);' >"$folder/hold.sql"
  pgbench -n -M simple -c "$1" -j 1 -t 1 -D "partitions=$2" -f "$folder/hold.sql" "$url" >/dev/null 2>&1 &
  holding=$!
  until [ "$(sql "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()")" -eq "$1" ]; do
    sleep 0.1
  done
}

release() {
  kill "$holding"
  wait "$holding" 2>/dev/null || true
  sql "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()" >/dev/null
}

# µs of processor time the backend spends on a look, planned anew each time as the relay's are: the mean
# of 300. Wall-clock time would tell more about what else runs on the machine.
microseconds() {
  {
    echo 'SELECT pg_backend_pid() AS pid \gset'
    for _ in $(seq 20); do cat "$1"; done  # caches filled
    echo '\set before `cat /proc/:pid/schedstat`'
    for _ in $(seq 300); do cat "$1"; done
    echo '\set after `cat /proc/:pid/schedstat`'
    echo '\warn :before :after'
  } >"$folder/session.sql"
  psql -X -q -o /dev/null -d "$url" -f "$folder/session.sql" 2>&1 | awk '{ print int(($4 - $1) / 300000) }'
}

echo 'SELECT 1;' >"$folder/nothing.sql"
echo "| partitions | holders | a look, µs | SELECT 1, µs |"
echo "|---|---|---|---|"
for partitions in 1 8 64; do
  sql "CREATE TABLE fence_bench (part int) PARTITION BY LIST (part)"
  for ((part = 0; part < partitions; part++)); do
    sql "CREATE TABLE fence_bench_$part PARTITION OF fence_bench FOR VALUES IN ($part)"
  done
  oid=$(sql "SELECT 'fence_bench'::regclass::oid")
  { sed -e "s/\$1/'fence_bench'/g" -e "s/\$2/$oid/g" -e '/^--/d' "$query"; echo ';'; } >"$folder/look.sql"
  for holders in 0 1 10 100 500; do
    [ "$holders" -eq 0 ] || hold "$holders" "$partitions"
    echo "| $partitions | $holders | $(microseconds "$folder/look.sql") | $(microseconds "$folder/nothing.sql") |"
    [ "$holders" -eq 0 ] || release
  done
  sql "DROP TABLE fence_bench"
done
