#!/usr/bin/env bash
# What pruning costs a relay, as ratios within one run, on a private server:
#   1. a relay drains a backlog alone, and while a prune deletes rows delivered before: rows a second;
#   2. the same number of rows deleted in batches without a pause, and dropped as a partition: seconds.
#
#   bench/prune.sh PROGRAM [REPEATS [ROWS]]
set -euo pipefail
program=$(realpath "$1") repeats=${2:-5} rows=${3:-40000}
bin=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -1)
folder=$(mktemp -d /dev/shm/seriatim-bench-XXXXXX)
port=$((20000 + RANDOM % 20000))
if [ "$(id -u)" -eq 0 ]; then chown postgres "$folder"; as=(runuser -u postgres --); else as=(); fi
chmod 755 "$folder"
"${as[@]}" "$bin/initdb" -D "$folder/data" -A trust -U postgres >/dev/null
"${as[@]}" "$bin/pg_ctl" -D "$folder/data" -w -o "-p $port -k $folder -c max_wal_size=1GB" -l "$folder/log" start >/dev/null
trap '"${as[@]}" "$bin/pg_ctl" -D "$folder/data" -m immediate stop >/dev/null; rm -rf "$folder"' EXIT
sql() { PGOPTIONS="-c client_min_messages=warning" "$bin/psql" -h "$folder" -p "$port" -U postgres -qAt -d bench "$@"; }

"$bin/psql" -h "$folder" -p "$port" -U postgres -qAt -c "CREATE DATABASE bench"
cat >"$folder/seriatim.toml" <<TOML
[database]
url = "host=$folder port=$port user=postgres dbname=bench"
[[process]]
name = "p"
commit_every = 100
[process.source]
table = "public.t"
[process.handler]
kind = "log"
file = "/dev/null"
TOML
seriatim() { "$program" "$@" --config "$folder/seriatim.toml"; }
seriatim init >/dev/null
sql -c "CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY, created_at timestamptz NOT NULL DEFAULT clock_timestamp(), payload json, PRIMARY KEY (id, created_at)) PARTITION BY RANGE (created_at)" \
  -c "CREATE INDEX ON t (created_at, id)" -c "CREATE TABLE rest PARTITION OF t DEFAULT"
fill() { sql -c "INSERT INTO t (payload) SELECT json_build_object('n', n, 'text', repeat('x', 200)) FROM generate_series(1, $1) AS n" -c "ANALYZE t" -c "CHECKPOINT"; }
pruned() { sql -c "SELECT coalesce(sum(pruned_rows), 0) FROM seriatim.ledger"; }
now() { date +%s%N; }
drain() { # rows a second
  local began
  began=$(now)
  seriatim run --drain --log-level error >/dev/null
  echo $((rows * 1000000000 / ($(now) - began)))
}

for _ in $(seq "$repeats"); do
  fill $((rows * 5)) && seriatim run --drain --log-level error >/dev/null # what there is to prune
  fill "$rows"
  drain >>"$folder/alone"
  fill "$rows"
  before=$(pruned)
  "$program" prune --older-than 0s --json --config "$folder/seriatim.toml" >"$folder/report" 2>/dev/null &
  prune=$!
  until [ "$(pruned)" -gt "$before" ]; do sleep 0.02; done # it recounts first
  drain >>"$folder/beside"
  kill -TERM "$prune" 2>/dev/null || true # a background job of a script hears no SIGINT
  wait "$prune" || true
  sed 's/.*"rows":\([0-9]*\).*"longest_batch_us":\([0-9]*\).*/\1 \2/' "$folder/report" >>"$folder/pruned"
  seriatim run --drain --log-level error >/dev/null
  sql -c "TRUNCATE t"
done

# One day of rows each: deleted in batches, and dropped.
for _ in $(seq "$repeats"); do
  for way in batches partition; do
    sql -c "DELETE FROM seriatim.cursor" -c "DELETE FROM seriatim.ledger" -c "DROP TABLE IF EXISTS day" -c "TRUNCATE t" \
      -c "CREATE TABLE day PARTITION OF t FOR VALUES FROM ('2020-01-01Z') TO ('2020-01-02Z')" \
      -c "INSERT INTO t (created_at, payload) SELECT '2020-01-01Z'::timestamptz + n * interval '1 ms', json_build_object('n', n, 'text', repeat('x', 200)) FROM generate_series(1, $rows) AS n" \
      -c "INSERT INTO t (payload) VALUES ('{}')"
    seriatim run --drain --log-level error >/dev/null
    [ "$way" = partition ] || sql -c "ALTER TABLE t DETACH PARTITION day" -c "DROP TABLE rest" -c "ALTER TABLE t ATTACH PARTITION day DEFAULT"
    wal=$(sql -c "SELECT pg_current_wal_insert_lsn()")
    began=$(now)
    seriatim prune --older-than 1h >/dev/null
    echo "$((($(now) - began) / 1000000)) $(sql -c "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '$wal')::bigint / 1024")" >>"$folder/$way"
    [ "$way" = partition ] || sql -c "DROP TABLE day" -c "CREATE TABLE rest PARTITION OF t DEFAULT"
  done
done

median() { sort -n | awk '{ v[NR] = $1 } END { printf "%d (%d to %d)", v[int((NR + 1) / 2)], v[1], v[NR] }'; }
echo "drain alone, rows/s:            $(median <"$folder/alone")"
echo "drain beside a prune, rows/s:   $(median <"$folder/beside")"
paste "$folder/beside" "$folder/alone" | awk '{ print int(1000 * $1 / $2) }' | sort -n |
  awk '{ v[NR] = $1 / 1000 } END { printf "ratio of neighbours:            %.2f (%.2f to %.2f)\n", v[int((NR + 1) / 2)], v[1], v[NR] }'
echo "rows pruned meanwhile:          $(cut -d' ' -f1 "$folder/pruned" | median)"
echo "longest batch, us:              $(cut -d' ' -f2 "$folder/pruned" | median)"
echo "$rows rows in batches, ms:      $(cut -d' ' -f1 "$folder/batches" | median), WAL $(cut -d' ' -f2 "$folder/batches" | median) KiB"
echo "$rows rows as a partition, ms:  $(cut -d' ' -f1 "$folder/partition" | median), WAL $(cut -d' ' -f2 "$folder/partition" | median) KiB"
