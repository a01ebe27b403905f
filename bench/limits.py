"""What the server limits, and what a relay asks of it, with fsync on: on the disk that TMPDIR names.

1. Rows a second of 1 to 64 clients that insert one row a transaction, without and with the hint trigger. NOTIFY takes one lock
   of the whole server until the commit is done, so such commits follow one another.
2. WAL and transaction ids that a relay spends on a row.
3. Memory that the connection of an idle lane has for itself in the server.

docs/scaling.md discusses the figures.
"""
import os
import re
import subprocess
import time

from processes import Relay, Server, statement, status

IDLE_SECONDS = 3  # then the relay has done all that it does at first
CONFIG = """
[database]
url = "{url}"
[log]
level = "error"
[[process]]
name = "p{every}"
commit_every = {every}
[process.source]
table = "public.t{every}"
order_by = "id"
[process.handler]
kind = "log"
file = "/dev/null"
"""


def inserts_a_second(server, table, clients, seconds):
    said = server.pgbench(statement("insert_rows", table=table, rows=1), "-M", "prepared", "-c", clients, "-j", 2, "-T", seconds)
    return float(re.search(r"tps = ([0-9.]+)", said)[1])


def show_inserts(server, seconds):
    for table in ("plain", "hinted"):
        server.sql(statement("create_outbox", table=table))
    server.sql(statement("create_hint", table="hinted"))
    print("| clients | inserts/s, a transaction each | with the hint trigger | load |\n|---|---|---|---|")
    for clients in (1, 4, 16, 64):
        plain, hinted = (inserts_a_second(server, table, clients, seconds) for table in ("plain", "hinted"))
        print(f"| {clients} | {plain:.0f} | {hinted:.0f} | {os.getloadavg()[0]:.1f} |", flush=True)


def configuration(server, every):
    config = server.folder / f"every_{every}.toml"
    config.write_text(CONFIG.format(url=server.url, every=every))
    return config


def wal_and_ids(server):
    return [int(word) for word in server.sql(statement("wal_and_ids")).split("|")]


def show_drains(server, program, rows):
    print("\n| commit_every | WAL a row, bytes | transaction ids a row |\n|---|---|---|")
    for every in (1, 100):
        server.sql(statement("create_outbox", table=f"t{every}") + statement("insert_rows", table=f"t{every}", rows=rows) + "CHECKPOINT")
        before = wal_and_ids(server)
        subprocess.run([program, "run", "--drain", "--config", configuration(server, every)], check=True, stdout=subprocess.DEVNULL)
        wal, ids = (after - first for after, first in zip(wal_and_ids(server), before))
        print(f"| {every} | {wal / rows:.0f} | {ids / rows:.2f} |", flush=True)


def show_memory(server, program):
    with Relay(program, configuration(server, 100)):
        time.sleep(IDLE_SECONDS)
        kib = [status(pid, "RssAnon")[0] for pid in server.sql(statement("relay_backends", process="p100")).split()]
    print(f"\nbackends of an idle lane, memory of their own: {', '.join(f'{one / 1024:.1f} MB' for one in kib)}")


def measure(program, quick, _tell):
    with Server("max_connections=200") as server:
        server.init_schema(program)
        show_inserts(server, 1 if quick else 5)
        show_drains(server, program, 500 if quick else 5_000)
        show_memory(server, program)
