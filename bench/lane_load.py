"""So many lanes of one relay against a receiver that takes its time: rows a second, and who uses the processors."""
import http.client
import os
import re
import statistics
import time
from pathlib import Path
from typing import NamedTuple

from processes import TICKS, Psql, Relay, Stand, fail, processor_seconds, statement

BATCH = 100
KEYS_A_LANE = 5  # sql/bench/scripts/fill_lanes.sql
PATIENCE = 120
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


class Load(NamedTuple):
    lanes: int
    delay: int  # ms the receiver takes
    every: int  # commit_every
    way: int    # ms to the server, each way


class Sight(NamedTuple):
    """What can be seen at one moment."""
    at: float
    rows: int
    seconds: dict  # of processor time


def machine_seconds():
    """All but idling and waiting, of all cores, whoever uses them."""
    fields = [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / TICKS


def milliseconds(load, port, script):
    """The mean of a script, one after another, by pgbench."""
    said = load.server.pgbench(script, "-T", 2, url=load.url(port))
    return float(re.search(r"latency average = ([0-9.]+) ms", said)[1])


def commit_ms(load, rest):
    """A durable UPDATE of one row after so many ms of rest."""
    update, sleep = statement("durable_update"), f"\\sleep {rest} ms\n"
    if rest == 0:
        return milliseconds(load, load.server.port, update)
    return milliseconds(load, load.server.port, sleep + update) - milliseconds(load, load.server.port, sleep)


def post_ms(load, delay):
    """A bare POST to a receiver of so many ms, one after another: the median, Python's own time included."""
    took = []
    with Stand(load.stand, "receiver", delay) as receiver:
        connection = http.client.HTTPConnection("127.0.0.1", receiver.port)
        for _ in range(200):
            began = time.perf_counter()
            connection.request("POST", "/", b"x" * 300)
            connection.getresponse().read()
            took.append((time.perf_counter() - began) * 1000)
        connection.close()
    return statistics.median(took)


class LaneLoad:
    def __init__(self, server, program, stand):
        self.server, self.program, self.stand = server, program, stand
        self.config = server.folder / "seriatim.toml"

    def url(self, port):
        return f"postgresql://postgres@127.0.0.1:{port}/postgres?sslmode=disable"

    def run(self, load):
        rows = self.fill(load)
        with Stand(self.stand, "receiver", load.delay) as receiver, Stand(self.stand, "proxy", self.server.port, load.way) as proxy:
            port = proxy.port if load.way else self.server.port
            self.config.write_text(CONFIG.format(url=self.url(port), lanes=load.lanes, batch=BATCH, every=load.every, receiver=receiver.port))
            with Relay(self.program, self.config) as relay, Psql(self.server) as psql:
                first, last = self.watch(psql, rows, {"relay": relay.pid, "receiver": receiver.pid})
        return {**load._asdict(), "rows": rows, **between(first, last), "load": os.getloadavg()[0]}

    def fill(self, load):
        """Some four seconds of the least that can be expected."""
        a_lane = min(4.0 / ((load.delay + 0.1 + (0.3 + 2 * load.way) / load.every) / 1000), 20_000 / load.lanes)
        rounds = max(1, int(a_lane / KEYS_A_LANE))
        self.server.sql(statement("fill_lanes", lane=statement("lane_of_key", lanes=load.lanes), lanes=load.lanes, rounds=rounds))
        return rounds * KEYS_A_LANE * load.lanes

    def watch(self, psql, rows, pids):
        """At a tenth and at eight tenths of the rows, when every lane is at work."""
        first, asked = None, statement("rows_delivered")
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            done = int(psql.ask(asked))
            if done >= rows * 0.8 and first and done > first.rows:
                return first, self.sight(done, pids)
            if done >= rows * 0.1 and not first:
                first = self.sight(done, pids)
            time.sleep(0.05)
        return fail(f"{done} of {rows} rows in {PATIENCE} s")

    def sight(self, done, pids):
        seconds = {name: processor_seconds(pid) for name, pid in pids.items()}
        return Sight(time.monotonic(), done, {**seconds, "server": self.server.processor_seconds(), "machine": machine_seconds()})


def between(first, last):
    took, rows = last.at - first.at, last.rows - first.rows
    used = {name: last.seconds[name] - first.seconds[name] for name in last.seconds}
    return {"rows_per_s": rows / took, "cpu_us_a_row": (used["relay"] + used["receiver"] + used["server"]) / rows * 1e6,
            "cores": {name: seconds / took for name, seconds in used.items()}}
