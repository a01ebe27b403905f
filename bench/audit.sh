#!/usr/bin/env bash
# What ledger and audit cost: rows a second of a drain into a log handler that writes to /dev/null,
# taken in turns within one run on a private server in memory, where a commit costs no disk: so the
# shares told here are the largest there are.
#
#   bench/audit.sh BASE NEW [REPEATS [ROWS]]
#
# BASE: the same program, but its advance notes no ids and its sessions do not look behind the cursor
# (advance_cursor.sql without bucket_ids, source.cpp without AuditPass::look). NEW: as it is. Told are,
# for commit_every 1 and 100, base, new, and new with late_rows = "deliver": the median, least and most
# of REPEATS (default 7) drains of ROWS rows (3000; times 20 for 100), and the median ratio of
# neighbouring drains. docs/audit.md discusses the figures.
. "$(dirname "$0")/private_server.sh"
. "$(dirname "$0")/log_relay.sh"
arguments 2 4 "$@"
base=$(program_at "$1")
new=$(program_at "$2")
repeats=$(number_from "${3:-7}")
rows_by_one=$(number_from "${4:-3000}")
start_server memory max_wal_size=1GB

prepare() { # NAME PROGRAM COMMIT_EVERY LINES OF THE SOURCE: a database, and a process in it
  sql -c "CREATE DATABASE $1"
  configure "$1" "$1" public.t "$3" "$4"
  "$2" init --config "$folder/$1.toml" >/dev/null
  sql_in "$1" -c "CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, created_at timestamptz NOT NULL DEFAULT clock_timestamp(), payload json)" \
    -c "CREATE INDEX ON t (created_at, id)"
}

# It begins where the one before ended.
measure() { # NAME PROGRAM ROWS
  sql_in "$1" -c "INSERT INTO t (payload) SELECT '{\"n\": 12345, \"text\": \"booked\"}' FROM generate_series(1, $3)" -c "CHECKPOINT"
  drain "$2" "$1" "$3" >>"$folder/$1"
}

tell() { # COMMIT_EVERY
  local variant
  for variant in base new deliver; do
    printf '%-28s %s rows/s, of base %s, of new %s\n' "commit_every $1: $variant" "$(spread %d <"$folder/${variant}_$1")" \
      "$(ratios "$folder/${variant}_$1" "$folder/base_$1" | spread %.3f)" "$(ratios "$folder/${variant}_$1" "$folder/new_$1" | spread %.3f)"
  done
}

for every in 1 100; do
  rows=$([ "$every" = 1 ] && echo "$rows_by_one" || echo $((rows_by_one * 20)))
  prepare "base_$every" "$base" "$every" ""
  prepare "new_$every" "$new" "$every" ""
  prepare "deliver_$every" "$new" "$every" 'late_rows = "deliver"'
  for _ in $(seq "$repeats"); do
    measure "base_$every" "$base" "$rows"
    measure "new_$every" "$new" "$rows"
    measure "deliver_$every" "$new" "$rows"
  done
  tell "$every"
done
