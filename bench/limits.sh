#!/usr/bin/env bash
# What the server itself limits, on a private server with fsync on:
#   1. transactions a second of 1 … 64 clients that insert a row each and commit: without and with the hint trigger,
#      which makes commits follow one another (NOTIFY takes one lock for the whole server);
#   2. WAL and transaction ids a row that a relay spends, at commit_every 1 and 100;
#   3. memory a connection of a lane takes.
#
#   bench/limits.sh PROGRAM [SECONDS [ROWS]]
#
# SECONDS (5) for each figure of 1, ROWS (5000) for 2. TMPDIR tells which disk. docs/scaling.md discusses the figures.
. "$(dirname "$0")/private_server.sh"
. "$(dirname "$0")/log_relay.sh"
arguments 1 3 "$@"
program=$(program_at "$1")
seconds=$(number_from "${2:-5}")
rows=$(number_from "${3:-5000}")
start_server disk max_wal_size=4GB max_connections=200
init_schema "$program"

prepare() {
  local table
  for table in plain hinted; do
    sql -c "CREATE TABLE $table (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payload text, created_at timestamptz NOT NULL DEFAULT clock_timestamp())"
    sql -c "CREATE INDEX ON $table (created_at, id)"
    echo "INSERT INTO $table (payload) VALUES (repeat('x', 300));" >"$folder/$table.sql"
  done
  sql -c "CREATE TRIGGER hint AFTER INSERT ON hinted FOR EACH STATEMENT EXECUTE FUNCTION seriatim.hint()"
}

transactions() { # CLIENTS TABLE
  "$bin/pgbench" -n -M prepared -c "$1" -j 2 -T "$seconds" -f "$folder/$2.sql" "$url" 2>/dev/null | awk '/^tps/ { print int($3) }'
}

tell_transactions() {
  local clients
  echo "| clients | inserts/s, no trigger | with the hint trigger | load |"
  echo "|---|---|---|---|"
  for clients in 1 4 16 64; do
    echo "| $clients | $(transactions "$clients" plain) | $(transactions "$clients" hinted) | $(cut -d' ' -f1 /proc/loadavg) |"
  done
}

tell_wal() {
  local every wal first
  echo "| commit_every | WAL a row, bytes | transaction ids a row |"
  echo "|---|---|---|"
  for every in 1 100; do
    configure "every_$every" postgres "public.t_$every" "$every" 'order_by = "id"'
    sql -c "CREATE TABLE t_$every (LIKE plain INCLUDING ALL)"
    sql -c "INSERT INTO t_$every (payload) SELECT repeat('x', 300) FROM generate_series(1, $rows)"
    sql -c "CHECKPOINT"
    wal=$(sql -c "SELECT pg_current_wal_insert_lsn()")
    first=$(sql -c "SELECT pg_current_xact_id()")
    run_drain "$program" "every_$every"
    echo "| $every | $(sql -c "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '$wal')::bigint / $rows") | $(sql -c "SELECT round((pg_current_xact_id()::text::bigint - $first) / $rows.0, 2)") |"
  done
}

backend() { sql -c "SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'seriatim/every_100%' LIMIT 1"; }

# Anonymous memory: of shared_buffers each backend maps the same pages.
tell_memory() {
  local relay pid
  "$program" run --log-level error --config "$folder/every_100.toml" >/dev/null &
  relay=$!
  sleep 3 # of idling, in which it has done all it does
  pid=$(backend)
  [ -n "$pid" ] || fail "the relay has no connection after 3 s"
  echo "a lane's connection: $(awk '/RssAnon/ { print int($2 / 1024) }' "/proc/$pid/status") MB of its own"
  kill "$relay"
  wait "$relay" || true
}

prepare
tell_transactions
echo
tell_wal
echo
tell_memory
