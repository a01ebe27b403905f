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
# neighbouring drains.
set -euo pipefail
base=$(realpath "$1") new=$(realpath "$2") repeats=${3:-7} rows_by_one=${4:-3000}
bin=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -1)
folder=$(mktemp -d /dev/shm/seriatim-bench-XXXXXX)
port=$((20000 + RANDOM % 20000))
if [ "$(id -u)" -eq 0 ]; then chown postgres "$folder"; as=(runuser -u postgres --); else as=(); fi
chmod 755 "$folder"
"${as[@]}" "$bin/initdb" -D "$folder/data" -A trust -U postgres >/dev/null
"${as[@]}" "$bin/pg_ctl" -D "$folder/data" -w -o "-p $port -k $folder -c max_wal_size=1GB" -l "$folder/log" start >/dev/null
trap '"${as[@]}" "$bin/pg_ctl" -D "$folder/data" -m immediate stop >/dev/null; rm -rf "$folder"' EXIT
sql() { "$bin/psql" -h "$folder" -p "$port" -U postgres -qAt "$@"; }

prepare() { # variant program commit_every more
  sql -c "CREATE DATABASE $1_$3"
  cat >"$folder/$1_$3.toml" <<TOML
[database]
url = "host=$folder port=$port user=postgres dbname=$1_$3"
[[process]]
name = "p"
commit_every = $3
[process.source]
table = "public.t"
$4
[process.handler]
kind = "log"
file = "/dev/null"
TOML
  "$2" init --config "$folder/$1_$3.toml" >/dev/null
  sql -d "$1_$3" -c "CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, created_at timestamptz NOT NULL DEFAULT clock_timestamp(), payload json)" \
    -c "CREATE INDEX ON t (created_at, id)"
}

# Rows a second of one drain; it begins where the one before ended.
drain() { # variant program commit_every rows
  sql -d "$1_$3" -c "INSERT INTO t (payload) SELECT '{\"n\": 12345, \"text\": \"booked\"}' FROM generate_series(1, $4)" -c "CHECKPOINT"
  local began ended
  began=$(date +%s%N)
  "$2" run --drain --log-level error --config "$folder/$1_$3.toml" >/dev/null
  ended=$(date +%s%N)
  echo $(($4 * 1000000000 / (ended - began)))
}

for every in 1 100; do
  rows=$([ "$every" = 1 ] && echo "$rows_by_one" || echo $((rows_by_one * 20)))
  prepare base "$base" "$every" ""
  prepare new "$new" "$every" ""
  prepare deliver "$new" "$every" 'late_rows = "deliver"'
  for _ in $(seq "$repeats"); do
    drain base "$base" "$every" "$rows" >>"$folder/base.$every"
    drain new "$new" "$every" "$rows" >>"$folder/new.$every"
    drain deliver "$new" "$every" "$rows" >>"$folder/deliver.$every"
  done
  for variant in base new deliver; do
    paste "$folder/base.$every" "$folder/new.$every" "$folder/$variant.$every" |
      awk -v name="commit_every $every: $variant" '
        { v[NR] = $3; b[NR] = $3 / $1; n[NR] = $3 / $2 }
        function median(a,  i, j, t) { for (i = 1; i <= NR; i++) for (j = i + 1; j <= NR; j++) if (a[j] < a[i]) { t = a[i]; a[i] = a[j]; a[j] = t }
                                       return NR % 2 ? a[(NR + 1) / 2] : (a[NR / 2] + a[NR / 2 + 1]) / 2 }
        END { m = median(v); printf "%-28s %8d rows/s (%d to %d), of base %.3f, of new %.3f\n", name, m, v[1], v[NR], median(b), median(n) }'
  done
done
