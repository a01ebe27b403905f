#!/usr/bin/env python3
"""Rows a second of 1, 4, 16 and 64 lanes against a receiver of 5 ms, beside what as many lanes could do.

  bench/lanes.py [--fsync on|off] [--repeats 3] [--lanes 1,4,16,64] [--program build/release/seriatim]

On a private server, with bench_stand (a target of cmake) as receiver; a commit a row. The limit is lanes / (5 ms + own cost), both
measured anew before each figure: how much longer a bare POST to the receiver of 5 ms takes than to one that answers at once, and
what a row takes in one lane of the latter, with a commit as long as the same server takes for one after so much rest, in the place
of one of many in a row (pgbench). Told are medians
(least to most) of the repeats, the ratio of neighbours, and how many cores relay, server, receiver and the whole machine
used between a tenth and eight tenths of the rows. docs/scaling.md discusses the figures.
"""
import argparse
import statistics
import sys

from lane_load import LaneLoad, Load, commit_ms, post_ms
from processes import ROOT, Server, end_on_sigterm, fail, program_at, statement


def measure(given):
    found = {lanes: [] for lanes in given.lanes}
    with Server(f"fsync={given.fsync}", "max_connections=300") as server:
        server.init_schema(given.program)
        server.sql(statement("create_tick"))
        load = LaneLoad(server, given.program, given.stand)
        for repeat in range(given.repeats):
            for lanes in given.lanes:
                in_a_row, after_rest = commit_ms(load, 0), commit_ms(load, given.delay)
                own_ms = 1000 / load.run(Load(1, 0, 1, 0))["rows_per_s"] - in_a_row + after_rest
                delay_ms = post_ms(load, given.delay) - post_ms(load, 0)
                one = load.run(Load(lanes, given.delay, 1, 0))
                limit = lanes * 1000 / (delay_ms + own_ms)
                found[lanes].append({**one, "delay_ms": delay_ms, "own_ms": own_ms, "in_a_row": in_a_row, "after_rest": after_rest,
                                     "limit": limit, "ratio": one["rows_per_s"] / limit})
                print(f"bench/lanes.py: {repeat + 1}/{given.repeats}, {lanes} lanes: {one['rows_per_s']:.0f} of {limit:.0f} rows/s",
                      file=sys.stderr, flush=True)
    return found


def spread(values, form):
    return f"{statistics.median(values):{form}} ({min(values):{form}} to {max(values):{form}})"


def show(found):
    print("| lanes | rows/s | limit, rows/s | of the limit | receiver, ms | own cost, ms | its commit; one of many in a row | cores: relay | server | receiver | machine | load |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    for lanes, runs in found.items():
        cores = [f"{statistics.median(one['cores'][name] for one in runs):.2f}" for name in ("relay", "server", "receiver", "machine")]
        print(f"| {lanes} | {spread([one['rows_per_s'] for one in runs], '.0f')} | {statistics.median(one['limit'] for one in runs):.0f} | "
              f"{spread([one['ratio'] for one in runs], '.2f')} | {statistics.median(one['delay_ms'] for one in runs):.2f} | "
              f"{statistics.median(one['own_ms'] for one in runs):.2f} | "
              f"{statistics.median(one['after_rest'] for one in runs):.2f}; {statistics.median(one['in_a_row'] for one in runs):.2f} | "
              + " | ".join(cores) + f" | {statistics.median(one['load'] for one in runs):.1f} |")


def lane_counts(text):
    counts = [int(word) for word in text.split(",")]
    if not counts or min(counts) < 1:
        raise ValueError(text)
    return counts


def arguments_given():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=ROOT / "build" / "release" / "seriatim")
    parser.add_argument("--stand", default=ROOT / "build" / "release" / "bench_stand")
    parser.add_argument("--fsync", choices=["on", "off"], default="on")
    parser.add_argument("--delay", type=int, default=5, help="ms the receiver takes")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--lanes", type=lane_counts, default=[1, 4, 16, 64])
    given = parser.parse_args()
    given.program, given.stand = program_at(given.program, "seriatim_app"), program_at(given.stand, "bench_stand")
    return given


if __name__ == "__main__":
    end_on_sigterm()
    try:
        show(measure(arguments_given()))
    except KeyboardInterrupt:
        fail("interrupted")
