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

from lane_load import BATCH, LaneLoad, Load
from processes import ROOT, Server, Stand, end_on_sigterm, fail, program_at, statement

RESULT = ROOT / "build" / "bench" / "model.json"
TURN_MS = 50  # core::Lane::lock_ahead_max

# The first fit the constants, the others check them.
FITTED = [Load(1, 0, 1, 0), Load(1, 0, 100, 0)]
CHECKED = [Load(*point) for point in (
    (1, 0, 10, 0), (1, 0, 1, 4), (1, 5, 1, 0), (1, 5, 10, 0), (1, 5, 100, 0), (1, 5, 1, 1), (1, 5, 1, 4), (1, 0, 10, 4),
    (4, 5, 1, 0), (4, 5, 10, 0), (4, 5, 1, 4), (16, 5, 1, 0), (16, 5, 100, 0), (64, 5, 1, 0), (64, 5, 100, 0))]


def tell(line):
    print(f"bench/model.py: {line}", file=sys.stderr, flush=True)


def milliseconds(load, name, port):
    """The mean of a statement, one after another, by pgbench."""
    script = load.server.folder / "statement.sql"
    script.write_text(statement(name))
    said = subprocess.run([str(load.server.bin / "pgbench"), "-n", "-T", "2", "-f", str(script), load.url(port)], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
    return float(re.search(r"latency average = ([0-9.]+) ms", said)[1])


def post_ms(port):
    """A bare POST, one after another: the median, Python's own time included."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    took = []
    for _ in range(200):
        began = time.perf_counter()
        connection.request("POST", "/", b"x" * 300)
        connection.getresponse().read()
        took.append((time.perf_counter() - began) * 1000)
    return statistics.median(took)


def measure_bare(load):
    """What round trips, commits and POSTs take without a relay."""
    server = load.server
    server.sql(statement("create_tick"))
    bare = {"select_ms": milliseconds(load, "round_trip", server.port), "commit_ms": milliseconds(load, "durable_update", server.port)}
    for way in sorted({point.way for point in FITTED + CHECKED} - {0}):
        with Stand(load.stand, "proxy", server.port, way) as proxy:
            bare[f"rtt_{way}_ms"] = milliseconds(load, "round_trip", proxy.port) - bare["select_ms"]
    for delay in sorted({point.delay for point in FITTED + CHECKED}):
        with Stand(load.stand, "receiver", delay) as receiver:
            bare[f"post_{delay}_ms"] = post_ms(receiver.port)
    return bare


def measure(given):
    with Server() as server:
        server.init_schema(given.program)
        load = LaneLoad(server, given.program, given.stand)
        bare = measure_bare(load)
        tell(json.dumps(bare))
        points = {point: [] for point in FITTED + CHECKED}
        for repeat in range(given.repeats):  # each point once, then all again: a busy minute hits few
            for point in points:
                points[point].append(load.run(point))
                tell(f"{repeat + 1}/{given.repeats} " + json.dumps(points[point][-1]))
    return {"bare": bare, "cores": os.cpu_count(), "points": [summary(runs) for runs in points.values()]}


def summary(runs):
    """The fastest repeat, the one least disturbed by what else runs; the median and the slowest beside it."""
    rates = [one["rows_per_s"] for one in runs]
    return {**max(runs, key=lambda one: one["rows_per_s"]), "median": statistics.median(rates), "min": min(rates),
            "cpu_us_a_row": min(one["cpu_us_a_row"] for one in runs)}


def load_of(point):
    return Load(*(point[name] for name in Load._fields))


class Model:
    """Milliseconds and rows a millisecond within, rows a second without."""

    def __init__(self, report):
        at = {load_of(p): p for p in report["points"]}
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
        fitted = load_of(p) in FITTED
        predicted = model.rows_per_s(p)
        bound = "cores" if predicted >= model.machine(p["every"]) else "lanes"
        ratio = "fitted" if fitted else f"{p['rows_per_s'] / predicted:.2f}"
        print(f"| {p['lanes']} | {p['delay']} | {p['every']} | {model.rtt(p['way']):.1f} | {predicted:.0f} | "
              f"{p['rows_per_s']:.0f} | {p['median']:.0f}, {p['min']:.0f} | {ratio} | {bound} | {p['load']:.1f} |")


def arguments_given():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=ROOT / "build" / "release" / "seriatim")
    parser.add_argument("--stand", default=ROOT / "build" / "release" / "bench_stand")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--print", action="store_true", help="only the tables, of what was measured before")
    return parser.parse_args()


def main():
    given = arguments_given()
    if not given.print:
        given.program, given.stand = program_at(given.program, "seriatim_app"), program_at(given.stand, "bench_stand")
        RESULT.parent.mkdir(parents=True, exist_ok=True)
        RESULT.write_text(json.dumps(measure(given), indent=1) + "\n")
    if not RESULT.exists():
        fail(f"there is no {RESULT} to print: run it without --print first")
    show(json.loads(RESULT.read_text()))


if __name__ == "__main__":
    end_on_sigterm()
    try:
        main()
    except KeyboardInterrupt:
        fail("interrupted")
