#!/usr/bin/env bash
# What one look at the locks costs: sql/reader/lock_holders.sql against 1 … 500 connections that all hold the table and
# 1 … 64 partitions. On a private server or, where a URL is given, in a throwaway database of a server on this machine with
# max_connections above 510, in which nothing is left behind.
#
#   bench/fence.sh [postgresql://postgres@localhost/scratch]
#
# docs/fence.md discusses the figures.
. "$(dirname "$0")/private_server.sh"
. "$(dirname "$0")/held_sessions.sh"
arguments 0 1 "$@"
query=$(realpath "$(dirname "$0")/../sql/reader/lock_holders.sql")
if [ $# -eq 1 ]; then use_server "$1"; else start_server memory max_connections=600; fi

partition() { # PARTITIONS
  local part
  sql -c "DROP TABLE IF EXISTS fence_bench" -c "CREATE TABLE fence_bench (part int) PARTITION BY LIST (part)"
  for ((part = 0; part < $1; part++)); do
    sql -c "CREATE TABLE fence_bench_$part PARTITION OF fence_bench FOR VALUES IN ($part)"
  done
}

# Prepared, as the relay's is.
write_look() {
  { echo "PREPARE look AS"; cat "$query"; echo ';'; } >"$folder/prepare.sql"
  echo "EXECUTE look ('fence_bench', $(sql -c "SELECT 'fence_bench'::regclass::oid"));" >"$folder/look.sql"
}

writers='BEGIN; INSERT INTO fence_bench (part) VALUES (:client_id % :partitions);' # each has written one partition
echo 'SELECT 1;' >"$folder/nothing.sql"
echo "| partitions | holders | a look, µs | SELECT 1, µs |"
echo "|---|---|---|---|"
for partitions in 1 8 64; do
  partition "$partitions"
  write_look
  for holders in 0 1 10 100 500; do
    [ "$holders" -eq 0 ] || hold "$holders" "$writers" -D "partitions=$partitions"
    echo "| $partitions | $holders | $(microseconds "$folder/look.sql" 20 300 "$folder/prepare.sql") | $(microseconds "$folder/nothing.sql" 20 300) |"
    [ "$holders" -eq 0 ] || release
  done
done
sql -c "DROP TABLE fence_bench"
