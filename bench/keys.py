"""What the keys of one lane do to each other, with several calls in flight and on_retry = "hold_key".

    bench/keys.py [--program build/release/seriatim] [--only bad,big] [--seconds 60] [--rows 20000] [--rate 500]

A private PostgreSQL, a receiver that answers after 5 ms, one relay, 1 000 keys that get rows at a steady rate.

bad: one key is answered with 500 for so many seconds, later another one is left without an answer up to handler_deadline. Before,
between and after all is well for half as long. Printed are the times from the acknowledged commit to the call, of the other keys, and
their ratio to those of the two neighbours in which all was well; and whether the bad key's rows arrived afterwards, each once and in
order. How far the neighbours differ is the noise of the machine.

big: first all is well, then one further key gets so many rows at once. Printed are how many rows of the other keys were
called a second, as a share of before, and the same times. Rows that were not called by the end count as rows that
waited until then.

Quiet machines only: look at the ratios."""
import argparse
import json
import threading
import time
from typing import NamedTuple

from processes import Psql, Relay, Server, Stand, built, end_on_sigterm, fail, program_at, statement

KEYS = 1_000
IN_FLIGHT = 32
DELAY_MS = 5
DEADLINE_S = 3
TICK_S = 0.01
WARM_UP_S = 5
BETWEEN_S = 15  # a key that was bad has caught up by then, or disturbs what follows
PATIENCE_S = 120
CONFIG = """[database]
url = "{url}"
[log]
level = "error"
[[process]]
name = "p"
in_flight = {in_flight}
commit_every = {every}
batch_rows = 1000
on_retry = "hold_key"
on_poison = "park_key"
handler_deadline = "{deadline}s"
backoff = {{ first = "500ms", max = "5s" }}
[process.source]
table = "public.t"
order_by = "id"
key = "key"
[process.handler]
kind = "http"
url = "http://127.0.0.1:{port}/{{{{key}}}}/{{{{id}}}}"
allow_private = true
"""


class Call(NamedTuple):
    at: float  # s, of the monotonic clock
    key: str
    id: int
    accepted: bool


class KeyReceiver(Stand):
    """Told which key fares badly; knows every call."""

    def __init__(self, program):
        super().__init__(program, "keys", DELAY_MS)

    def ask(self, line):
        print(line, file=self.process.stdin, flush=True)
        return self.process.stdout.readline().strip() or fail("the receiver ended")

    def calls(self, file):
        self.ask(f"report {file}")
        rows = (line.split(" ") for line in file.read_text().splitlines())
        return [Call(int(at) / 1e9, key, int(row), accepted == "1") for at, key, row, accepted in rows]


class SteadyWriter(threading.Thread):
    """So many rows a second, the keys in turn; `committed` is when each was known to be, by id."""

    def __init__(self, server, rate):
        super().__init__(daemon=True)
        self.psql, self.rate, self.turn = Psql(server), rate, threading.Lock()
        self.ended, self.committed, self.key_of = threading.Event(), {}, {}

    def run(self):
        rows, due = 0, time.monotonic()
        while not self.ended.is_set():
            due += TICK_S
            time.sleep(max(0, due - time.monotonic()))
            first, rows = rows + 1, rows + max(1, round(self.rate * TICK_S))
            least, most = map(int, self.ask(statement("insert_keys", keys=KEYS, first=first, last=rows)).split())
            now = time.monotonic()
            for row in range(least, most + 1):
                self.committed[row], self.key_of[row] = now, str((first + row - least) % KEYS)

    def ask(self, text):
        """One statement at a time, so that the ids of each are in a row."""
        with self.turn:
            return self.psql.ask(text)

    def __exit__(self, *_):
        self.stop()

    def __enter__(self):
        self.start()
        return self

    def stop(self):
        self.ended.set()
        self.join()
        self.psql.end()


class Phase(NamedTuple):
    name: str
    begin: float
    end: float
    bad_key: str = ""


def phase(name, seconds, bad_key=""):
    begin = time.monotonic()
    time.sleep(seconds)
    return Phase(name, begin, time.monotonic(), bad_key)


def rank(ordered, share):
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


class Quiet(NamedTuple):
    """Of the rows committed in some phases, without those of the key that was bad then."""
    waits: list  # ms
    called: int
    seconds: float

    def __add__(self, other):
        return Quiet(sorted(self.waits + other.waits), self.called + other.called, self.seconds + other.seconds)

    def figures(self):
        return {"rows": len(self.waits), "called_per_s": round(self.called / self.seconds, 1), "p50_ms": round(rank(self.waits, 0.5), 2),
                "p99_ms": round(rank(self.waits, 0.99), 2), "max_ms": round(self.waits[-1], 1)}


def quiet_keys(span, writer, first_calls, until):
    """One not called by `until` waited so long."""
    waits, called = [], 0
    for row, committed in writer.committed.items():
        if writer.key_of[row] == span.bad_key:
            continue
        if span.begin <= committed < span.end:
            waits.append(max(0.0, min(first_calls.get(row, until), until) - committed) * 1000)
        called += row in first_calls and span.begin <= first_calls[row] < span.end
    return Quiet(sorted(waits), called, span.end - span.begin)


def compared(quiet, well):
    figures, base = quiet.figures(), well.figures()
    return {**figures, "p50_ratio": round(figures["p50_ms"] / base["p50_ms"], 2), "p99_ratio": round(figures["p99_ms"] / base["p99_ms"], 2),
            "rate_ratio": round(figures["called_per_s"] / base["called_per_s"], 3)}


def bad_key_rows(span, writer, calls):
    """What became of the key: all of its rows, also those committed before and after it was bad."""
    mine = [call for call in calls if call.key == span.bad_key]
    accepted = [call.id for call in mine if call.accepted]
    due = [row for row, key in writer.key_of.items() if key == span.bad_key]
    waited = [row for row in due if span.begin <= writer.committed[row] < span.end]
    done = {call.id: call.at for call in mine if call.accepted}
    caught_up = max((done[row] for row in waited if row in done), default=span.end) - span.end
    return {"bad_key_rows": len(waited), "refused_calls": len(mine) - len(accepted), "in_order_and_once": accepted == sorted(due),
            "caught_up_after_s": round(caught_up, 1)}


def await_all(receiver, rows):
    deadline = time.monotonic() + PATIENCE_S
    while int(receiver.ask("accepted")) < rows:
        if time.monotonic() > deadline:
            print(json.dumps({"not_delivered": rows - int(receiver.ask("accepted")), "patience_s": PATIENCE_S}), flush=True)
            return
        time.sleep(0.2)


class Trial:
    """One relay on a new table, rows coming in."""

    def __init__(self, server, program, stand, rate):
        server.sql(statement("fill_keys", keys=KEYS, rows=0))
        server.init_schema(program)
        server.sql(statement("create_hint", table="t"))
        self.server, self.program, self.stand, self.rate = server, program, stand, rate

    def run(self, measure):
        with KeyReceiver(self.stand) as receiver:
            config = self.server.folder / "seriatim.toml"
            config.write_text(CONFIG.format(url=self.server.url, in_flight=IN_FLIGHT, every=IN_FLIGHT // 2, deadline=DEADLINE_S, port=receiver.port))
            with Relay(self.program, config), SteadyWriter(self.server, self.rate) as writer:
                time.sleep(WARM_UP_S)
                measure(receiver, writer)

    def calls(self, receiver):
        calls = receiver.calls(self.server.folder / "calls")
        first_calls = {}
        for call in calls:
            first_calls.setdefault(call.id, call.at)
        return calls, first_calls


def measure_bad(trial, seconds):
    def measure(receiver, writer):
        spans = [phase("well", seconds / 2)]
        for name, order, key in (("one key is refused", "refuse", "7"), ("one key gets no answer", "hang", "13")):
            receiver.ask(f"{order} {key}")
            spans.append(phase(name, seconds, key))
            receiver.ask("well")
            time.sleep(BETWEEN_S)
            spans.append(phase("well", seconds / 2))
        writer.stop()
        await_all(receiver, len(writer.committed))
        calls, first_calls = trial.calls(receiver)
        quiet = [quiet_keys(span, writer, first_calls, time.monotonic()) for span in spans]
        for at, span in enumerate(spans):
            if span.bad_key:
                figures = {**compared(quiet[at], quiet[at - 1] + quiet[at + 1]), **bad_key_rows(span, writer, calls)}
            else:
                figures = quiet[at].figures()
            print(json.dumps({"phase": span.name, **figures}), flush=True)

    trial.run(measure)


def measure_big(trial, seconds, rows):
    def measure(receiver, writer):
        spans = [phase("well", seconds / 2)]
        writer.ask(statement("insert_one_key", rows=rows))
        spans.append(phase(f"one key has {rows} rows", seconds))
        until = time.monotonic()
        writer.stop()
        calls, first_calls = trial.calls(receiver)
        of_big = [call for call in calls if call.key == "big"]
        well, quiet = (quiet_keys(span, writer, first_calls, until) for span in spans)
        print(json.dumps({"phase": spans[0].name, **well.figures()}), flush=True)
        big = sum(spans[1].begin <= call.at < spans[1].end for call in of_big) / quiet.seconds
        print(json.dumps({"phase": spans[1].name, **compared(quiet, well), "big_key_per_s": round(big, 1)}), flush=True)

    trial.run(measure)


def main():
    end_on_sigterm()
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--program", default="build/release/seriatim")
    options.add_argument("--only", default="bad,big", help="what to measure: bad, big")
    options.add_argument("--seconds", type=float, default=60, help="how long a key is bad, or the backlog watched")
    options.add_argument("--rows", type=int, default=20_000, help="rows of the one key with a backlog")
    options.add_argument("--rate", type=int, default=500, help="rows a second of the other keys")
    chosen = options.parse_args()
    program = program_at(chosen.program)
    stand = built(program, "bench_stand")
    for name in chosen.only.split(","):
        with Server() as server:
            trial = Trial(server, program, stand, chosen.rate)
            measure_bad(trial, chosen.seconds) if name == "bad" else measure_big(trial, chosen.seconds, chosen.rows)


if __name__ == "__main__":
    main()
