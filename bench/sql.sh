#!/usr/bin/env bash
# A read model through the relay beside the plainest way to fill it: INSERT … SELECT of the same rows in
# the same batches, one transaction each, through psql. Taken in turns within one run, on a private
# server in memory.
#
#   bench/sql.sh PROGRAM [REPEATS [ROWS [BATCH]]]
#
# Told are rows a second, median (least to most) of REPEATS (default 7) runs over ROWS rows (100000) in
# batches of BATCH (1000), and the median ratio of neighbouring runs.
set -euo pipefail
program=$(realpath "$1") repeats=${2:-7} rows=${3:-100000} batch=${4:-1000}
bin=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -1)
folder=$(mktemp -d /dev/shm/seriatim-bench-XXXXXX)
port=$((20000 + RANDOM % 20000))
if [ "$(id -u)" -eq 0 ]; then chown postgres "$folder"; as=(runuser -u postgres --); else as=(); fi
chmod 755 "$folder"
"${as[@]}" "$bin/initdb" -D "$folder/data" -A trust -U postgres >/dev/null
"${as[@]}" "$bin/pg_ctl" -D "$folder/data" -w -o "-p $port -k $folder -c max_wal_size=4GB" -l "$folder/log" start >/dev/null
trap '"${as[@]}" "$bin/pg_ctl" -D "$folder/data" -m immediate stop >/dev/null; rm -rf "$folder"' EXIT
sql() { "$bin/psql" -h "$folder" -p "$port" -U postgres -qAt "$@"; }

cat >"$folder/seriatim.toml" <<TOML
[database]
url = "host=$folder port=$port user=postgres dbname=postgres"
[[process]]
name = "p"
batch_rows = $batch
[process.source]
table = "public.t"
order_by = "id"
[process.handler]
kind = "sql"
statement = "INSERT INTO model SELECT r.id::bigint, r.payload::json ->> 'text' FROM :records AS r"
TOML
"$program" init --config "$folder/seriatim.toml" >/dev/null
sql -c "CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, created_at timestamptz NOT NULL DEFAULT clock_timestamp(), payload json)" \
  -c "CREATE TABLE model (id bigint PRIMARY KEY, text text)" -c "CREATE TABLE plain (LIKE model INCLUDING ALL)"

rate() { # command …
  local began ended
  began=$(date +%s%N)
  "$@"
  ended=$(date +%s%N)
  echo $((rows * 1000000000 / (ended - began)))
}
by_relay() { "$program" run --drain --log-level error --config "$folder/seriatim.toml" >/dev/null; }
by_insert() { sql -f "$folder/plain.sql"; }

for _ in $(seq "$repeats"); do
  first=$(sql -c "SELECT coalesce(max(id), 0) FROM t")
  sql -c "INSERT INTO t (payload) SELECT '{\"n\": 12345, \"text\": \"booked\"}' FROM generate_series(1, $rows)" -c "VACUUM ANALYZE t" -c "CHECKPOINT"
  for ((id = first; id < first + rows; id += batch)); do
    echo "INSERT INTO plain SELECT id, payload ->> 'text' FROM t WHERE id > $id AND id <= $((id + batch));"
  done >"$folder/plain.sql"
  echo "$(rate by_insert) $(rate by_relay)" >>"$folder/rates"
done
awk '
  { plain[NR] = $1; relay[NR] = $2; ratio[NR] = $2 / $1 }
  function sort(a,  i, j, t) { for (i = 1; i <= NR; i++) for (j = i + 1; j <= NR; j++) if (a[j] < a[i]) { t = a[i]; a[i] = a[j]; a[j] = t } }
  function median(a) { return a[int((NR + 1) / 2)] }
  END { sort(plain); sort(relay); sort(ratio)
        printf "INSERT … SELECT  %8d rows/s (%d to %d)\n", median(plain), plain[1], plain[NR]
        printf "relay            %8d rows/s (%d to %d), ratio %.2f (%.2f to %.2f)\n", median(relay), relay[1], relay[NR], median(ratio), ratio[1], ratio[NR] }' "$folder/rates"
