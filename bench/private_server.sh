# Sourced by the scripts of this folder: what they are told, and a PostgreSQL of their own that is stopped and gone
# however they end.
#
#   . "$(dirname "$0")/private_server.sh"
#   arguments 1 2 "$@"                    # -h or a wrong number of them: the comment the script begins with
#   program=$(program_at "$1")
#   start_server memory max_wal_size=1GB  # or disk: the one TMPDIR is on, with fsync
#
# sets $bin (PostgreSQL's programs), $folder (gone at the end) and $url; `sql` and `sql_in DATABASE` are psql there.
# SERIATIM_POSTGRES_BIN names another PostgreSQL than the newest of /usr/lib/postgresql.
set -euo pipefail

fail() {
  echo "bench/${0##*/}: $*" >&2
  exit 2
}

usage() { sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0"; }

arguments() { # LEAST MOST ARGUMENT…
  local least=$1 most=$2
  shift 2
  case "${1:-}" in -h | --help) usage && exit 0 ;; esac
  if [ $# -lt "$least" ] || [ $# -gt "$most" ]; then
    usage >&2
    exit 2
  fi
}

program_at() {
  if [ ! -f "$1" ] || [ ! -x "$1" ]; then
    fail "there is no program $1: ./run build release makes build/release/seriatim"
  fi
  realpath "$1"
}

number_from() { # WORD
  [[ "$1" =~ ^[1-9][0-9]*$ ]] || fail "'$1' is no whole number above 0 (see --help)"
  echo "$1"
}

find_server() {
  bin=${SERIATIM_POSTGRES_BIN:-$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1 || true)}
  local tool
  for tool in initdb pg_ctl psql pgbench; do
    [ -x "$bin/$tool" ] || fail "no $tool in '${bin:-/usr/lib/postgresql/*/bin}': install the package postgresql, or set SERIATIM_POSTGRES_BIN"
  done
}

# PostgreSQL does not run as root.
as_owner() {
  local as=()
  [ "$(id -u)" -ne 0 ] || as=(runuser -u postgres --)
  (cd "$folder" && "${as[@]}" "$@")
}

# Its port is a name within its folder: no other server can be in the way.
start_server() { # memory|disk [SETTING=VALUE…]
  find_server
  local parent=/dev/shm options="-c listen_addresses=" setting
  [ "$1" = memory ] || parent=${TMPDIR:-/tmp}
  shift
  for setting in "$@"; do options+=" -c $setting"; done
  folder=$(mktemp -d "$parent/seriatim-bench-XXXXXX")
  trap clear_away EXIT
  url=$(url_of postgres)
  [ "$(id -u)" -ne 0 ] || chown postgres "$folder"
  chmod 755 "$folder"
  as_owner "$bin/initdb" -D "$folder/data" -A trust -U postgres >/dev/null
  as_owner "$bin/pg_ctl" -D "$folder/data" -w -o "-k $folder $options" -l "$folder/log" start >/dev/null ||
    fail "PostgreSQL did not start: $(tail -5 "$folder/log")"
}

# A server that is there already, in the place of one of our own.
use_server() { # URL
  find_server
  url=$1
  folder=$(mktemp -d)
  trap clear_away EXIT
  sql -c "SELECT" >/dev/null || fail "no database answers at $url"
}

clear_away() {
  local children
  children=$(jobs -pr)
  # shellcheck disable=SC2086
  [ -z "$children" ] || kill $children 2>/dev/null || true
  [ ! -e "$folder/data/postmaster.pid" ] || as_owner "$bin/pg_ctl" -D "$folder/data" -m immediate stop >/dev/null || true
  rm -rf "$folder"
}

init_schema() { (cd "$folder" && DATABASE_URL=$url "$1" init >/dev/null); } # PROGRAM; in $folder is no configuration

url_of() { echo "host=$folder port=5432 user=postgres dbname=$1"; }
psql_at() { PGOPTIONS="-c client_min_messages=warning" "$bin/psql" -X -qAt -v ON_ERROR_STOP=1 -d "$@"; }
sql() { psql_at "$url" "$@"; }
sql_in() { # DATABASE ARGUMENT…
  local database=$1
  shift
  psql_at "$(url_of "$database")" "$@"
}
