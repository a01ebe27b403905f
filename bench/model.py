#!/usr/bin/env python3
"""The capacity model of docs/scaling.md: fitted to two points, compared with others.

  bench/model.py [--program build/release/seriatim] [--repeats 3] [--print]

Measures on a private server (fsync on) with `bench_stand` (a target of cmake) as receiver and as a network of a given round trip;
points and constants go to build/bench/model.json. --print: only the tables, from what is there.

  rows/s of a lane     1 / (h + s + (w + k r) / c + q r / n)
  rows/s of all lanes  the less of lanes x that and cores / u(c)
  u(c)                 u_row + u_commit / c

h: the receiver's answer; s: all else a row costs; c: commit_every; w: a commit; r: the round trip to the server; n: batch_rows; u:
processor time a row of relay, its backends and the receiver (which here is on the same machine). Measured are s, w and u, with one lane
and no network. k and q are not: a commit is one round trip and takes the next lock along, but three once in 50 ms, when
an operator gets a turn (core::Lane::lock_ahead_max); a batch begins with four, unless it is read ahead (c > 1), and ends with two more.
"""
import argparse
import http.client
import json
import math
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

import peers

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "build" / "bench" / "model.json"
BATCH = 100
TURN_MS = 50  # core::Lane::lock_ahead_max
TICKS = os.sysconf("SC_CLK_TCK")

# (lanes, receiver ms, commit_every, one-way ms to the server): the first fit the constants, the others check them.
FITTED = [(1, 0, 1, 0), (1, 0, 100, 0)]
CHECKED = [(1, 0, 10, 0), (1, 0, 1, 4), (1, 5, 1, 0), (1, 5, 10, 0), (1, 5, 100, 0), (1, 5, 1, 1), (1, 5, 1, 4), (1, 0, 10, 4),
           (4, 5, 1, 0), (4, 5, 10, 0), (4, 5, 1, 4), (16, 5, 1, 0), (16, 5, 100, 0), (64, 5, 1, 0), (64, 5, 100, 0)]

TABLE = """
SET client_min_messages = warning;
DROP TABLE IF EXISTS t;
TRUNCATE seriatim.cursor, seriatim.ledger;
CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, key text NOT NULL, payload text,
                created_at timestamptz NOT NULL DEFAULT clock_timestamp());
CREATE INDEX ON t (created_at, id);
CREATE INDEX ON t (({lane}), created_at, id);
INSERT INTO t (key, payload) SELECT k, repeat('x', 300)
  FROM (SELECT key AS k, row_number() OVER (PARTITION BY {lane}) AS number
        FROM (SELECT 'k' || g AS key FROM generate_series(1, {lanes} * 100) AS g) AS t) AS numbered, generate_series(1, {each}) AS round
  WHERE number <= 5 ORDER BY round, number, k;
ANALYZE t;
CHECKPOINT;
"""
CONFIG = """
[database]
url = "{url}"
[log]
level = "error"
[[process]]
name = "p"
lanes = {lanes}
batch_rows = {batch}
commit_every = {every}
[process.source]
table = "public.t"
key = "key"
order_by = "id"
[process.handler]
kind = "http"
url = "http://127.0.0.1:{receiver}/"
allow_private = true
"""


class Stand:
    """A process of bench_stand, gone with the block."""

    def __init__(self, program, *words):
        self.process = subprocess.Popen([program, *map(str, words)], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.port = int(self.process.stdout.readline())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()


def cpu(pid):
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except FileNotFoundError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / TICKS


def lane_of_key(lanes):
    return f"coalesce((hashtextextended((key)::text, 0) % {lanes} + {lanes}) % {lanes}, 0)"


def rows_for(point):
    """Some four seconds of the least that can be expected, as a multiple of the five keys of each lane."""
    lanes, delay, every, way = point
    a_lane = min(4.0 / ((delay + 0.1 + (0.3 + 2 * way) / every) / 1000), 20_000 / lanes)
    return max(1, int(a_lane / 5)) * 5


class Bench:
    def __init__(self, server, given):
        self.server, self.given = server, given
        self.port = server.port
        self.config = server.folder / "seriatim.toml"
        self.control = None

    def url(self, port):
        return f"postgresql://postgres@127.0.0.1:{port}/postgres?sslmode=disable"

    def milliseconds(self, statement, port):
        """The mean of a statement, one after another, by pgbench."""
        script = self.server.folder / "statement.sql"
        script.write_text(statement)
        said = subprocess.run([str(self.server.bin / "pgbench"), "-n", "-T", "2", "-f", str(script), self.url(port)], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
        return float(re.search(r"latency average = ([0-9.]+) ms", said)[1])

    def post_ms(self, port):
        """A bare POST, one after another: the median, Python's own time included."""
        connection = http.client.HTTPConnection("127.0.0.1", port)
        took = []
        for _ in range(200):
            began = time.perf_counter()
            connection.request("POST", "/", b"x" * 300)
            connection.getresponse().read()
            took.append((time.perf_counter() - began) * 1000)
        return statistics.median(took)

    def point(self, point):
        lanes, delay, every, way = point
        each = rows_for(point)
        rows = each * lanes
        self.server.sql(TABLE.format(lane=lane_of_key(lanes), lanes=lanes, each=each // 5))
        with Stand(self.given.stand, "receiver", delay) as receiver, Stand(self.given.stand, "proxy", self.port, way) as proxy:
            port = proxy.port if way else self.port
            self.config.write_text(CONFIG.format(url=self.url(port), lanes=lanes, batch=BATCH, every=every, receiver=receiver.port))
            relay = subprocess.Popen([self.given.program, "run", "--config", str(self.config)], stderr=subprocess.DEVNULL,
                                     stdout=subprocess.DEVNULL)
            try:
                rate, used = self.rate(relay, receiver, rows, lanes)
            finally:
                relay.terminate()
                relay.wait()
        return {"lanes": lanes, "delay": delay, "every": every, "way": way, "rows": rows, "rows_per_s": rate, "cpu_us_a_row": used, "load": os.getloadavg()[0]}

    def rate(self, relay, receiver, rows, lanes):
        """Between a tenth and eight tenths of the rows, when every lane is at work; processor time over the same rows."""
        seen = []
        deadline = time.monotonic() + 120
        psql = subprocess.Popen([str(self.server.bin / "psql"), "-X", "-qAt", "-d", self.server.url], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        while time.monotonic() < deadline:
            print("SELECT coalesce(sum(sequence), 0) FROM seriatim.cursor;", file=psql.stdin, flush=True)
            done = int(psql.stdout.readline())
            seen.append((time.monotonic(), done, self.used(relay, receiver)))
            if done >= rows * 0.8:
                break
            time.sleep(0.05)
        psql.stdin.close()
        psql.wait()
        first = next(one for one in seen if one[1] >= rows * 0.1)
        last = seen[-1]
        if last[1] < rows * 0.8 or last[1] == first[1]:
            raise SystemExit(f"bench/model.py: {last[1]} of {rows} rows in two minutes, {lanes} lanes")
        return (last[1] - first[1]) / (last[0] - first[0]), (last[2] - first[2]) / (last[1] - first[1]) * 1e6

    def used(self, relay, receiver):
        postmaster = int((self.server.folder / "data" / "postmaster.pid").read_text().split()[0])
        children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
        return cpu(relay.pid) + cpu(receiver.process.pid) + sum(cpu(pid) for pid in children)


def tell(line):
    print(f"bench/model.py: {line}", file=sys.stderr, flush=True)


def measure(given):
    with peers.Server() as server:
        subprocess.run([given.program, "init"], env={**os.environ, "DATABASE_URL": server.url}, cwd=server.folder, check=True, stdout=subprocess.DEVNULL)
        server.sql("CREATE TABLE tick (n bigint); INSERT INTO tick VALUES (0)")
        bench = Bench(server, given)
        bare = {"select_ms": bench.milliseconds("SELECT 1;", server.port), "commit_ms": bench.milliseconds("UPDATE tick SET n = n + 1;", server.port)}
        for way in sorted({point[3] for point in FITTED + CHECKED} - {0}):
            with Stand(given.stand, "proxy", server.port, way) as proxy:
                bare[f"rtt_{way}_ms"] = bench.milliseconds("SELECT 1;", proxy.port) - bare["select_ms"]
        for delay in sorted({point[1] for point in FITTED + CHECKED}):
            with Stand(given.stand, "receiver", delay) as receiver:
                bare[f"post_{delay}_ms"] = bench.post_ms(receiver.port)
        tell(json.dumps(bare))
        points = {point: [] for point in FITTED + CHECKED}
        for repeat in range(given.repeats):  # each point once, then all again: a busy minute hits few
            for point in points:
                points[point].append(bench.point(point))
                tell(f"{repeat + 1}/{given.repeats} " + json.dumps(points[point][-1]))
    return {"bare": bare, "cores": os.cpu_count(), "points": [summary(runs) for runs in points.values()]}


def summary(runs):
    """The fastest repeat, the one least disturbed by what else runs; the median and the slowest beside it."""
    rates = [one["rows_per_s"] for one in runs]
    return {**max(runs, key=lambda one: one["rows_per_s"]), "median": statistics.median(rates), "min": min(rates),
            "cpu_us_a_row": min(one["cpu_us_a_row"] for one in runs)}


class Model:
    """Milliseconds and rows a millisecond within, rows a second without."""

    def __init__(self, report):
        at = {(p["lanes"], p["delay"], p["every"], p["way"]): p for p in report["points"]}
        each, hundred = (at[point] for point in FITTED)
        self.report, self.cores = report, report["cores"]
        self.w = (1000 / each["rows_per_s"] - 1000 / hundred["rows_per_s"]) / (1 - 1 / 100)
        self.s = 1000 / each["rows_per_s"] - self.w
        self.u_commit = (each["cpu_us_a_row"] - hundred["cpu_us_a_row"]) / (1 - 1 / 100)
        self.u_row = each["cpu_us_a_row"] - self.u_commit

    def rtt(self, way):
        return self.report["bare"][f"rtt_{way}_ms"] if way else 0.0

    def answer(self, delay):
        """How much longer a POST takes than one that is answered at once, whose time is in s."""
        bare = self.report["bare"]
        return bare[f"post_{delay}_ms"] - bare["post_0_ms"]

    def lane(self, delay, every, way):
        rtt = self.rtt(way)
        handed = every * (self.answer(delay) + self.s)
        commit = handed + self.w + rtt
        for _ in range(5):  # how many commits fit into a turn depends on how long they take
            commit = handed + self.w + (1 + 2 / (math.floor(TURN_MS / commit) + 1)) * rtt
        return 1000 / (commit / every + (6 if every == 1 else 2) * rtt / BATCH)

    def machine(self, every):
        return self.cores * 1e6 / (self.u_row + self.u_commit / every)

    def rows_per_s(self, p):
        return min(p["lanes"] * self.lane(p["delay"], p["every"], p["way"]), self.machine(p["every"]))


def show(report):
    model = Model(report)
    bare = report["bare"]
    print(f"s {model.s:.3f} ms, w {model.w:.3f} ms; "
          f"u_row {model.u_row:.0f} us, u_commit {model.u_commit:.0f} us, {model.cores} cores")
    print(f"bare, by pgbench: SELECT 1 {bare['select_ms']:.3f} ms, durable UPDATE {bare['commit_ms']:.3f} ms")
    print("\n| lanes | receiver, ms | commit_every | round trip, ms | predicted, rows/s | measured | median, least of the repeats | measured / predicted | bound by | load |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for p in report["points"]:
        fitted = (p["lanes"], p["delay"], p["every"], p["way"]) in FITTED
        predicted = model.rows_per_s(p)
        bound = "cores" if predicted >= model.machine(p["every"]) else "lanes"
        ratio = "fitted" if fitted else f"{p['rows_per_s'] / predicted:.2f}"
        print(f"| {p['lanes']} | {p['delay']} | {p['every']} | {model.rtt(p['way']):.1f} | {predicted:.0f} | "
              f"{p['rows_per_s']:.0f} | {p['median']:.0f}, {p['min']:.0f} | {ratio} | {bound} | {p['load']:.1f} |")


def arguments_given():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build" / "release" / "seriatim"))
    parser.add_argument("--stand", default=str(ROOT / "build" / "release" / "bench_stand"))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--print", action="store_true")
    return parser.parse_args()


def main():
    given = arguments_given()
    given.program, given.stand = os.path.abspath(given.program), os.path.abspath(given.stand)
    if not given.print:
        RESULT.parent.mkdir(parents=True, exist_ok=True)
        RESULT.write_text(json.dumps(measure(given), indent=1) + "\n")
    show(json.loads(RESULT.read_text()))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("bench/model.py: interrupted")
