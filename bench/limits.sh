#!/usr/bin/env bash
# What the server itself limits, on a private server with fsync on:
#   1. transactions a second of 1 … 64 clients that insert a row each and commit: without and with the hint trigger,
#      which makes commits follow one another (NOTIFY takes one lock for the whole server);
#   2. WAL and transaction ids a row that a relay spends, at commit_every 1 and 100;
#   3. memory a connection of a lane takes.
#
#   bench/limits.sh PROGRAM [SECONDS]
#
# docs/scaling.md discusses the figures. TMPDIR tells which disk.
set -euo pipefail
program=$(realpath "$1") seconds=${2:-5} rows=5000
bin=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -1)
folder=$(mktemp -d -t seriatim-bench-XXXXXX)
port=$((20000 + RANDOM % 20000))
if [ "$(id -u)" -eq 0 ]; then chown postgres "$folder"; as=(runuser -u postgres --); else as=(); fi
chmod 755 "$folder"
cd "$folder"
"${as[@]}" "$bin/initdb" -D "$folder/data" -A trust -U postgres >/dev/null
"${as[@]}" "$bin/pg_ctl" -D "$folder/data" -w -o "-p $port -k $folder -c max_wal_size=4GB -c max_connections=200" -l "$folder/log" start >/dev/null
trap '"${as[@]}" "$bin/pg_ctl" -D "$folder/data" -m immediate stop >/dev/null; rm -rf "$folder"' EXIT
url="host=$folder port=$port user=postgres dbname=postgres"
sql() { "$bin/psql" -X -q -A -t -v ON_ERROR_STOP=1 -d "$url" -c "$1"; }
load() { cut -d' ' -f1 /proc/loadavg; }
DATABASE_URL=$url "$program" init >/dev/null

for table in plain hinted; do
  sql "CREATE TABLE $table (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payload text, created_at timestamptz NOT NULL DEFAULT clock_timestamp())"
  sql "CREATE INDEX ON $table (created_at, id)"
  echo "INSERT INTO $table (payload) VALUES (repeat('x', 300));" >"$folder/$table.sql"
done
sql "CREATE TRIGGER hint AFTER INSERT ON hinted FOR EACH STATEMENT EXECUTE FUNCTION seriatim.hint()"

transactions() { "$bin/pgbench" -n -M prepared -c "$1" -j 2 -T "$seconds" -f "$folder/$2.sql" "$url" 2>/dev/null | awk '/^tps/ { print int($3) }'; }
echo "| clients | inserts/s, no trigger | with the hint trigger | load |"
echo "|---|---|---|---|"
for clients in 1 4 16 64; do
  echo "| $clients | $(transactions "$clients" plain) | $(transactions "$clients" hinted) | $(load) |"
done

echo
echo "| commit_every | WAL a row, bytes | transaction ids a row |"
echo "|---|---|---|"
for every in 1 100; do
  cat >"$folder/seriatim.toml" <<TOML
[database]
url = "$url"
[[process]]
name = "every_$every"
commit_every = $every
[process.source]
table = "public.t_$every"
order_by = "id"
[process.handler]
kind = "log"
file = "/dev/null"
TOML
  sql "CREATE TABLE t_$every (LIKE plain INCLUDING ALL)"
  sql "INSERT INTO t_$every (payload) SELECT repeat('x', 300) FROM generate_series(1, $rows)"
  sql "CHECKPOINT"
  before=$(sql "SELECT pg_current_wal_insert_lsn()") first=$(sql "SELECT pg_current_xact_id()")
  "$program" run --drain --log-level error --config "$folder/seriatim.toml" >/dev/null
  echo "| $every | $(sql "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '$before')::bigint / $rows") | $(sql "SELECT round((pg_current_xact_id()::text::bigint - $first) / $rows.0, 2)") |"
done

# Anonymous memory: of shared_buffers each backend maps the same pages.
"$program" run --log-level error --config "$folder/seriatim.toml" >/dev/null &
relay=$!
sleep 3
pid=$(sql "SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'seriatim/every_100%' LIMIT 1")
echo
echo "a lane's connection: $(awk '/RssAnon/ { print int($2 / 1024) }' "/proc/$pid/status") MB of its own"
kill "$relay"
wait "$relay" || true
