"""The capacity model of docs/scaling.md: fitted to four points, compared with others.

Measures on a private server (fsync on), with bench_stand as receiver and as a network of a given round trip. Points and
constants go to build/bench/model.json.

  ms a row of a lane      t = h + s + (w + r) / c + b r / n
  processor ms a row      u = u_row + u_commit / c
  rows/s of all lanes     lanes that take turns at the processors: about lanes / t while few, about cores / u in the end

h: the receiver's answer; s: all else a row costs; c: commit_every; w: a commit, w' of one that follows a rest; r: the round trip to
the server; n: batch_rows. Measured are s and w with one lane and no network, how much longer a bare commit takes after a rest, and u (relay, its
backends and the receiver, which here is on the same machine) with 16 lanes that wait for the receiver. b is not: a commit
is one round trip and announces the next call; a batch begins with a poll and a START, unless it is read ahead (c > 1).

How the processors are shared: mean value analysis of a closed network, lanes being its customers (Reiser and Lavenberg, "Mean-Value
Analysis of Closed Multichain Queuing Networks", 1980); several cores as one that is as fast as all and a delay for the rest (Seidmann,
Schweitzer and Shalev-Oren, "Computerized Closed Queueing Network Models", 1987).
"""
import json
import os
import statistics

from lane_load import BATCH, LaneLoad, Load, commit_ms, milliseconds, post_ms
from processes import ROOT, Server, Stand, built, statement

RESULT = ROOT / "build" / "bench" / "model.json"
REST = 5      # ms between two bare commits, as a lane that waits for a receiver or the network leaves between its own

# The first fit the constants, the others check them.
ONE_LANE = [Load(1, 0, 1, 0), Load(1, 0, 100, 0)]
PROCESSOR = [Load(16, 5, 1, 0), Load(16, 5, 100, 0)]  # their rows a second are checked, too
CHECKED = [Load(*point) for point in (
    (1, 0, 10, 0), (1, 0, 1, 4), (1, 0, 10, 4), (1, 5, 1, 0), (1, 5, 10, 0), (1, 5, 100, 0), (1, 5, 1, 1), (1, 5, 1, 4), (4, 5, 1, 0),
    (4, 5, 10, 0), (4, 5, 1, 4), (16, 5, 10, 0), (32, 5, 1, 0), (64, 5, 1, 0), (64, 5, 10, 0), (64, 5, 100, 0))]
POINTS = ONE_LANE + PROCESSOR + CHECKED


def measure_bare(load, points):
    """What round trips, commits and POSTs take without a relay."""
    server = load.server
    server.sql(statement("create_tick"))
    bare = {"select_ms": milliseconds(load, server.port, statement("round_trip"))}
    for way in sorted({point.way for point in points} - {0}):
        with Stand(load.stand, "proxy", server.port, way) as proxy:
            bare[f"rtt_{way}_ms"] = milliseconds(load, proxy.port, statement("round_trip")) - bare["select_ms"]
    for rest in (0, REST):
        bare[f"commit_{rest}_ms"] = commit_ms(load, rest)
    for delay in sorted({point.delay for point in points}):
        bare[f"post_{delay}_ms"] = post_ms(load, delay)
    return bare


def measured(program, quick, say):
    chosen, repeats = (POINTS[:6], 1) if quick else (POINTS, 3)
    with Server() as server:
        server.init_schema(program)
        load = LaneLoad(server, program, built(program, "bench_stand"))
        bare = measure_bare(load, chosen)
        say(json.dumps(bare))
        points = {point: [] for point in chosen}
        for repeat in range(repeats):  # each point once, then all again: a busy minute hits few
            for point in points:
                points[point].append(load.run(point))
                say(f"{repeat + 1}/{repeats} " + json.dumps(points[point][-1]))
    return {"bare": bare, "cores": os.cpu_count(), "points": [summary(runs) for runs in points.values()]}


def summary(runs):
    """The repeat in the middle, and the slowest and fastest next to it."""
    runs = sorted(runs, key=lambda one: one["rows_per_s"])
    rates = {"least": runs[0]["rows_per_s"], "most": runs[-1]["rows_per_s"]}
    return {**runs[(len(runs) - 1) // 2], **rates, "cpu_us_a_row": statistics.median(one["cpu_us_a_row"] for one in runs)}


def load_of(point):
    return Load(*(point[name] for name in Load._fields))


def split(each, hundred):
    """Of what a row costs with a commit each and with one for a hundred: what the commit costs, and what is left."""
    commit = (each - hundred) / (1 - 1 / 100)
    return commit, each - commit


class Model:
    """Milliseconds within, rows a second without."""

    def __init__(self, report):
        at = {load_of(point): point for point in report["points"]}
        self.bare, self.cores = report["bare"], report["cores"]
        self.w, self.s = split(*(1000 / at[load]["rows_per_s"] for load in ONE_LANE))
        self.u_commit, self.u_row = split(*(at[load]["cpu_us_a_row"] / 1000 for load in PROCESSOR))

    def rtt(self, way):
        return self.bare[f"rtt_{way}_ms"] if way else 0.0

    def longer(self, what, delay):
        """A POST, or a commit, than one of those whose time is in s and w."""
        return self.bare[f"{what}_{delay}_ms"] - self.bare[f"{what}_0_ms"]

    def a_row(self, load):
        """Of one lane that has the processors to itself."""
        rtt, every = self.rtt(load.way), load.every
        rests = load.delay > 0 or load.way > 0
        commit = every * (self.longer("post", load.delay) + self.s) + self.w + (self.longer("commit", REST) if rests else 0) + rtt
        return commit / every + (2 if every == 1 else 0) * rtt / BATCH

    def processor(self, load):
        return self.u_row + self.u_commit / load.every

    def rows_per_s(self, load):
        a_row, turn = self.a_row(load), self.processor(load) / self.cores
        waiting = 0.0  # lanes at the processors, the one served included
        for lanes in range(1, load.lanes + 1):
            there = turn * (1 + waiting)
            rate = lanes / (a_row - turn + there)
            waiting = rate * there
        return 1000 * rate


def fits(load):
    return "s, w" if load in ONE_LANE else "u" if load in PROCESSOR else ""


def show(report):
    model, bare = Model(report), report["bare"]
    print(f"s {model.s:.3f} ms, w {model.w:.3f} ms, w' {model.w + model.longer('commit', REST):.3f} ms; "
          f"u_row {model.u_row:.3f} ms, u_commit {model.u_commit:.3f} ms, {model.cores} cores")
    print("bare: " + ", ".join(f"{name} {took:.3f}" for name, took in bare.items()))
    print("\n| lanes | receiver, ms | commit_every | round trip, ms | predicted, rows/s | measured | measured / predicted "
          "| cores in use | fits |")
    print("|---|---|---|---|---|---|---|---|---|")
    for p in report["points"]:
        load = load_of(p)
        predicted = model.rows_per_s(load)
        print(f"| {p['lanes']} | {p['delay']} | {p['every']} | {model.rtt(p['way']):.1f} | {predicted:.0f} | "
              f"{p['rows_per_s']:.0f} ({p['least']:.0f} to {p['most']:.0f}) | {p['rows_per_s'] / predicted:.2f} | "
              f"{p['cores']['machine']:.1f} | {fits(load)} |")


def measure(program, quick, say):
    report = measured(program, quick, say)
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps(report, indent=1) + "\n")
    show(report)
