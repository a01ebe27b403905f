# Sourced after private_server.sh: sessions that hold something for as long as a statement is looked at, and the processor
# time a backend takes for that. Only on a server of this machine: /proc tells it.

asleep() { sql -c "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()"; }

hold() { # SESSIONS STATEMENTS [ARGUMENT OF PGBENCH…]: they run the statements and then stay where they are
  local sessions=$1
  echo "$2 SELECT pg_sleep(600);" >"$folder/hold.sql"
  shift 2
  "$bin/pgbench" -n -M simple -c "$sessions" -j 1 -t 1 -f "$folder/hold.sql" "$@" "$url" >/dev/null 2>"$folder/hold.log" &
  holding=$!
  until [ "$(asleep)" -eq "$sessions" ]; do
    kill -0 "$holding" 2>/dev/null || fail "$sessions sessions could not be held: $(tail -1 "$folder/hold.log")"
    sleep 0.1
  done
}

release() {
  kill "$holding"
  wait "$holding" 2>/dev/null || true
  sql -c "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()" >/dev/null
  until [ "$(asleep)" -eq 0 ]; do sleep 0.1; done
}

# µs of processor time the backend spends on the statement in FILE: the mean of so many, after a few that fill the caches.
# Wall-clock time would tell more about what else runs on the machine.
microseconds() { # FILE FIRST TIMES [FILE THE SESSION BEGINS WITH]
  {
    [ $# -lt 4 ] || cat "$4"
    echo 'SELECT pg_backend_pid() AS pid \gset'
    for _ in $(seq "$2"); do cat "$1"; done
    echo '\set before `cat /proc/:pid/schedstat`'
    for _ in $(seq "$3"); do cat "$1"; done
    echo '\set after `cat /proc/:pid/schedstat`'
    echo '\warn :before :after'
  } >"$folder/session.sql"
  sql -o /dev/null -f "$folder/session.sql" 2>&1 | awk -v times="$3" '{ print int(($4 - $1) / times / 1000) }'
}
