"""Rows a second of one lane with several calls in flight, as a share of N / time of a call, and of bare loops.

    bench/in_flight.py [build/release/seriatim]

A private PostgreSQL, a receiver that answers after so many ms, 10 000 keys. `of_limit` is the share of what N connections
could do that never waited for anything but the receiver. `of_bare` is the share of what N bare loops over kept connections
did against the same receiver, just before: what this machine can reach. bench/keys.py measures what keys do to each other."""
import json
import subprocess
import sys
import time

from processes import Psql, Relay, Server, Stand, built, end_on_sigterm, fail, processor_seconds, program_at, statement

KEYS = 10_000
PATIENCE = 120
CASES = [(1, 1, 5), (16, 1, 5), (16, 16, 5), (64, 64, 5), (256, 256, 50)]  # in_flight, commit_every, ms
CONFIG = """[database]
url = "{url}"
[log]
level = "error"
[[process]]
name = "p"
in_flight = {in_flight}
commit_every = {every}
batch_rows = 1000
[process.source]
table = "public.t"
order_by = "id"
key = "key"
[process.handler]
kind = "http"
url = "http://127.0.0.1:{port}/"
allow_private = true
"""


def measure(server, program, stand, case):
    in_flight, every, delay = case
    rows = max(1_000, int(in_flight / delay * 1000 * 8))
    server.sql(statement("fill_keys", keys=KEYS, rows=rows))
    server.init_schema(program)
    with Stand(stand, "receiver", delay) as receiver:
        bare = bare_rate(stand, receiver.port, in_flight, delay)
        config = server.folder / "seriatim.toml"
        config.write_text(CONFIG.format(url=server.url, in_flight=in_flight, every=every, port=receiver.port))
        with Relay(program, config) as relay, Psql(server) as psql:
            first, last = watch(server, psql, relay, rows)
    took, done = last[0] - first[0], last[1] - first[1]
    return {"in_flight": in_flight, "commit_every": every, "ms": delay, "rows_per_s": round(done / took),
            "of_limit": round(done / took / (in_flight / delay * 1000), 3), "bare_per_s": round(bare), "of_bare": round(done / took / bare, 3),
            "cpu_s_per_100000": round((last[2] - first[2]) / done * 100_000, 1)}


def bare_rate(stand, port, connections, delay):
    """POSTs a second of so many loops, each with its own connection, over some four seconds."""
    command = [stand, "post", port, connections, max(1, 4_000 // delay)]
    return float(subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True, check=True).stdout)


def watch(server, psql, relay, rows):
    first, deadline = None, time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        done = int(psql.ask(statement("rows_delivered")))
        sight = (time.monotonic(), done, processor_seconds(relay.pid) + server.processor_seconds())
        if done >= rows * 0.15 and first is None:
            first = sight
        if done >= rows * 0.85 and first and done > first[1]:
            return first, sight
        time.sleep(0.02)
    return fail(f"{done} of {rows} rows in {PATIENCE} s")


def main():
    end_on_sigterm()
    program = program_at(sys.argv[1] if len(sys.argv) > 1 else "build/release/seriatim")
    stand = built(program, "bench_stand")
    with Server() as server:
        for case in CASES:
            print(json.dumps(measure(server, program, stand, case)), flush=True)


if __name__ == "__main__":
    main()
