#!/usr/bin/env bash
# What pruning costs a relay, on a private server in memory:
#   1. a relay drains ROWS rows alone, and beside a prune that deletes as many delivered before: in turns (A B B A), each
#      time of the same copy of a database. Told are rows a second, the ratios of neighbours, and what the prune deleted
#      in just that time; one that was done before the drain is an error;
#   2. DAY_ROWS rows deleted in batches, with nobody else at work, and dropped as a partition: seconds and WAL.
#
#   bench/prune.sh PROGRAM [REPEATS [ROWS [DAY_ROWS]]]
#
# REPEATS 5 (of A B B A, so ten pairs), ROWS 200000, DAY_ROWS 40000. docs/retention.md discusses the figures.
. "$(dirname "$0")/private_server.sh"
. "$(dirname "$0")/log_relay.sh"
arguments 1 4 "$@"
program=$(program_at "$1")
repeats=$(number_from "${2:-5}")
rows=$(number_from "${3:-200000}")
day_rows=$(number_from "${4:-40000}")
start_server memory max_wal_size=4GB

prepare() { # DATABASE KEY PARTITIONING STATEMENT…: with a table t and a process of the database's name
  local database=$1 key=$2 partitioning=$3
  shift 3
  sql -c "DROP DATABASE IF EXISTS $database" -c "CREATE DATABASE $database"
  configure "$database" "$database" public.t 100
  "$program" init --config "$folder/$database.toml" >/dev/null
  sql_in "$database" -c "CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY, created_at timestamptz NOT NULL DEFAULT clock_timestamp(), payload json, PRIMARY KEY ($key)) $partitioning" \
    -c "CREATE INDEX ON t (created_at, id)" "$@"
}

fill() { # DATABASE ROWS
  sql_in "$1" -c "INSERT INTO t (payload) SELECT json_build_object('n', n, 'text', repeat('x', 200)) FROM generate_series(1, $2) AS n"
}

# --- 1: beside a drain -----------------------------------------------------------------------------

# What was delivered before and what waits, in a database that each turn gets a copy of.
prepare_turns() {
  prepare turn id ""
  fill turn "$rows"
  run_drain "$program" turn
  fill turn "$rows"
  sql_in turn -c "VACUUM (ANALYZE)"
  sql -c "ALTER DATABASE turn RENAME TO stage"
}

begin_turn() {
  sql -c "DROP DATABASE IF EXISTS turn" -c "CREATE DATABASE turn TEMPLATE stage"
  # Else its cursor would say that it was kept in another database.
  sql_in turn -c "UPDATE seriatim.cursor SET identity = identity || jsonb_build_object('database',
                    (SELECT oid::text FROM pg_database WHERE datname = current_database()))"
  sql -c "CHECKPOINT"
}

alone() {
  begin_turn
  drain "$program" turn "$rows" >>"$folder/alone"
}

pruned() { sql_in turn -c "SELECT sum(pruned_rows) FROM seriatim.ledger"; }
reported() { grep -o "\"$1\":[0-9]*" "$folder/report" | head -1 | cut -d: -f2; } # NAME

beside() {
  local prune before began took
  begin_turn
  "$program" prune --older-than 0s --json --config "$folder/turn.toml" >"$folder/report" 2>"$folder/prune.log" &
  prune=$!
  until [ "$(pruned)" -gt 0 ]; do # it recounts first
    kill -0 "$prune" 2>/dev/null || fail "the prune ended before the drain began: $(cat "$folder/prune.log")"
    sleep 0.02
  done
  before=$(pruned)
  began=$(now)
  drain "$program" turn "$rows" >>"$folder/beside"
  took=$((($(now) - began) / 1000000))
  echo $((($(pruned) - before) * 1000 / took)) >>"$folder/pruned_a_second"
  kill -TERM "$prune" 2>/dev/null || fail "the prune was done before the drain: give it more ROWS to delete than $rows"
  wait "$prune" || true
  reported longest_batch_us >>"$folder/longest_batch"
  echo $(($(reported rows) / $(reported batches))) >>"$folder/batch_rows"
}

tell_turns() {
  echo "drain alone, rows/s:             $(spread %d <"$folder/alone")"
  echo "drain beside a prune, rows/s:    $(spread %d <"$folder/beside")"
  echo "ratio of neighbours:             $(ratios "$folder/beside" "$folder/alone" | spread %.2f)"
  echo "pruned during the drain, rows/s: $(spread %d <"$folder/pruned_a_second")"
  echo "rows a batch:                    $(spread %d <"$folder/batch_rows")"
  echo "longest batch, us:               $(spread %d <"$folder/longest_batch")"
}

# --- 2: by itself ----------------------------------------------------------------------------------

delete_day() { # batches|partition
  local partitions=(-c "CREATE TABLE rest PARTITION OF t DEFAULT") wal began
  [ "$1" = batches ] || partitions+=(-c "CREATE TABLE day PARTITION OF t FOR VALUES FROM ('2020-01-01Z') TO ('2020-01-02Z')")
  prepare day "id, created_at" "PARTITION BY RANGE (created_at)" "${partitions[@]}" \
    -c "INSERT INTO t (created_at, payload) SELECT '2020-01-01Z'::timestamptz + n * interval '1 ms', json_build_object('n', n, 'text', repeat('x', 200)) FROM generate_series(1, $day_rows) AS n" \
    -c "INSERT INTO t (payload) VALUES ('{}')"
  run_drain "$program" day
  sql_in day -c "ANALYZE" # as autovacuum has it in service
  wal=$(sql -c "SELECT pg_current_wal_insert_lsn()")
  began=$(now)
  "$program" prune --older-than 1h --config "$folder/day.toml" >/dev/null
  echo $((($(now) - began) / 1000000)) >>"$folder/$1_ms"
  sql -c "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '$wal')::bigint / 1024" >>"$folder/$1_wal"
}

tell_day() { # batches|partition WORDS
  printf '%-33s%s, WAL %s KiB\n' "$day_rows rows $2, ms:" "$(spread %d <"$folder/$1_ms")" "$(spread %d <"$folder/$1_wal")"
}

prepare_turns
for _ in $(seq "$repeats"); do
  alone
  beside
  beside
  alone
done
tell_turns
for _ in $(seq "$repeats"); do
  delete_day batches
  delete_day partition
done
tell_day batches "in batches"
tell_day partition "as a partition"
