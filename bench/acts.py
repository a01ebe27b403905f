"""How soon an operator's act has its turn on a lane that delivers row after row, a commit each: `seriatim pause`, from its start
to its end as a person waits for it, compared with the same command on a lane that nobody holds.

docs/operations.md has the figures.
"""
import os
import statistics
import subprocess
import time

from processes import Relay, Server, fail, statement

CONFIG = """
[database]
url = "{url}"
[log]
level = "error"
[[process]]
name = "p"
commit_every = 1
[process.source]
table = "public.t"
order_by = "id"
[process.handler]
kind = "log"
file = "/dev/null"
"""
PATIENCE = 30
LINE = "| {} | {} | {:.0f} | {:.0f} | {:.0f} | {:.1f} |"


def act(program, config, verb):
    """Milliseconds that the command took."""
    began = time.perf_counter()
    subprocess.run([program, verb, "p", "--config", config, "--reason", "bench"], check=True, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - began) * 1000


def await_rows(server, more):
    """So many rows are delivered after this call."""
    asked = statement("rows_delivered")
    first, deadline = int(server.sql(asked)), time.monotonic() + PATIENCE
    while int(server.sql(asked)) < first + more:
        if time.monotonic() > deadline:
            fail(f"the relay did not deliver {more} rows in {PATIENCE} s")
        time.sleep(0.01)


def pauses(server, program, config, times, delivering):
    took = []
    for _ in range(times):
        if delivering:
            await_rows(server, 100)
        took.append(act(program, config, "pause"))
        act(program, config, "resume")
    return took


def show(name, took):
    ordered = sorted(took)
    p95 = ordered[int(len(ordered) * 0.95)]
    print(LINE.format(name, len(took), statistics.median(took), p95, ordered[-1], os.getloadavg()[0]), flush=True)


def measure(program, quick, _tell):
    times = 20 if quick else 100
    with Server() as server:
        server.init_schema(program)
        config = server.folder / "acts.toml"
        config.write_text(CONFIG.format(url=server.url))
        server.sql(statement("create_outbox", table="t") + statement("insert_rows", table="t", rows=500_000))
        print("| lane | acts | median ms | p95 ms | most ms | load |\n|---|---|---|---|---|---|")
        with Relay(program, config):
            await_rows(server, 100)
            show("delivers row after row", pauses(server, program, config, times, True))
        show("nobody holds it", pauses(server, program, config, times, False))
