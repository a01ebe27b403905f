# Sourced after private_server.sh: a relay into a log handler that writes to /dev/null, and what comes of its drains.

configure() { # NAME DATABASE TABLE COMMIT_EVERY [LINES OF THE SOURCE]: writes $folder/NAME.toml
  cat >"$folder/$1.toml" <<TOML
[database]
url = "$(url_of "$2")"
[[process]]
name = "$1"
commit_every = $4
[process.source]
table = "$3"
${5:-}
[process.handler]
kind = "log"
file = "/dev/null"
TOML
}

now() { date +%s%N; }

run_drain() { "$1" run --drain --log-level error --config "$folder/$2.toml" >/dev/null; } # PROGRAM NAME

# Rows a second, the program's start in it.
drain() { # PROGRAM NAME ROWS
  local began
  began=$(now)
  run_drain "$1" "$2"
  echo $(($3 * 1000000000 / ($(now) - began)))
}

# Of a column of numbers, in the form FORMAT each: median (least to most).
spread() { # FORMAT
  sort -g | awk -v f="$1" '
    { v[NR] = $1 }
    END { m = NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2; printf f " (" f " to " f ")", m, v[1], v[NR] }'
}

# Line by line, the first file's number by the second's.
ratios() { paste "$1" "$2" | awk '{ printf "%.6f\n", $1 / $2 }'; }
