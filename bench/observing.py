"""What it costs to be watched.

Drains of a handler that does nothing, in turn plain and watched: a scrape of /metrics each second, alerts, a history; and once more
with 1000 connections to the endpoint that send nothing. Then a lane at rest: statements and processor time a second, with nobody
watching and with a scrape every 15 s. docs/monitoring.md has the figures.
"""
import re
import socket
import statistics
import subprocess
import threading
import time
import urllib.request

from processes import Relay, Server, fail, processor_seconds, statement

PORT = 18_642
CONSOLE = f'[console]\nlisten = "127.0.0.1:{PORT}"\n'
ALERTS = '[alerts]\ncommand = ["/bin/true"]\n'
CONFIG = """
[database]
url = "{url}"
[log]
level = "error"
{more}
[[process]]
name = "{name}"
commit_every = 100
[process.source]
table = "public.t"
order_by = "id"
[process.handler]
kind = "log"
file = "/dev/null"
"""
SLOW = 1_000
EXECUTED = re.compile(r"LOG:  (execute|statement)")


def get(path):
    with urllib.request.urlopen(f"http://127.0.0.1:{PORT}{path}", timeout=10) as answer:
        return answer.read()


class Watcher:
    """Scrapes each second; with `slow` connections that send nothing, and notes how long /livez takes."""

    def __init__(self, slow=0):
        self.slow, self.open, self.livez, self.ended = slow, [], [], threading.Event()
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()
        for one in self.open:
            one.close()

    def run(self):
        while not self.ended.wait(0.05):
            try:
                get("/livez")
                break
            except OSError:
                continue
        while not self.ended.is_set():
            try:
                self.keep_slow()
                began = time.perf_counter()
                get("/livez")
                self.livez.append((time.perf_counter() - began) * 1000)
                get("/metrics")
            except OSError:  # the relay has ended
                pass
            self.ended.wait(1)

    def keep_slow(self):
        """The endpoint closes the oldest beyond its limit, so all are opened anew."""
        for one in self.open:
            one.close()
        self.open = []
        for _ in range(self.slow):
            one = socket.create_connection(("127.0.0.1", PORT), timeout=5)
            one.sendall(b"GET /metrics HTTP/1.1\r\n")
            self.open.append(one)


def drain(program, server, rows, more):
    """Rows a second, each time by a process that never ran."""
    server.sql(statement("drop_schema"))
    server.init_schema(program)
    config = server.folder / "drain.toml"
    config.write_text(CONFIG.format(url=server.url, more=more, name="p"))
    began = time.perf_counter()
    if subprocess.run([program, "run", "--drain", "--config", config], check=False, stdout=subprocess.DEVNULL).returncode != 0:
        fail("a drain did not end well")
    return rows / (time.perf_counter() - began)


def compare(program, server, rows, repeats, slow):
    ratios, livez = [], []
    for _ in range(repeats):
        plain = drain(program, server, rows, "")
        with Watcher(slow) as watcher:
            watched = drain(program, server, rows, CONSOLE + ALERTS)
        ratios.append(watched / plain)
        livez += watcher.livez
    what = f"scraped each second, {slow} silent connections" if slow else "scraped each second"
    print(f"| {what} | {statistics.median(ratios):.3f} | {min(ratios):.3f}–{max(ratios):.3f} | {max(livez):.0f} |", flush=True)


def at_rest(program, server, seconds, scrape, more):
    """Statements a second, and the processor share of relay and server."""
    config = server.folder / "rest.toml"
    config.write_text(CONFIG.format(url=server.url, more=more, name="rest"))
    with Relay(program, config) as relay:
        deadline = time.monotonic() + 60
        while server.sql(statement("lanes_held", process="rest")) != "1":
            if time.monotonic() > deadline:
                fail("the relay did not take its lane")
        time.sleep(10)
        log = server.folder / "log"
        first, cpu = len(log.read_text(errors="replace")), processor_seconds(relay.pid) + server.processor_seconds()
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            time.sleep(min(scrape or seconds, max(ends - time.monotonic(), 0)))
            if scrape and time.monotonic() < ends:
                get("/metrics")
        cpu = processor_seconds(relay.pid) + server.processor_seconds() - cpu
        lines = log.read_text(errors="replace")[first:].splitlines()
    by = {}
    for line in lines:
        if EXECUTED.search(line) and line.startswith("seriatim/"):
            session = line.split(" ", 1)[0]
            by[session] = by.get(session, 0) + 1
    return sum(by.values()) / seconds, cpu / seconds * 100, {name: round(n / seconds, 3) for name, n in sorted(by.items())}


def measure(program, quick, _tell):
    rows, repeats, seconds = (50_000, 2, 30) if quick else (1_000_000, 5, 300)
    with Server() as server:
        server.sql(statement("create_outbox", table="t") + statement("insert_rows", table="t", rows=rows))
        print("| drain | rate / rate of a plain one | range | /livez, most ms |\n|---|---|---|---|")
        compare(program, server, rows, repeats, 0)
        compare(program, server, rows, repeats, SLOW)
    with Server("log_statement=all", "log_line_prefix='%a '") as server:
        server.init_schema(program)
        server.sql(statement("create_outbox", table="t") + statement("create_hint", table="t"))
        print("\n| at rest | statements/s | CPU %, relay and server | by session |\n|---|---|---|---|")
        for what, scrape, more in (("plain", 0, ""), ("endpoint and alerts, nobody watches", 0, CONSOLE + ALERTS),
                                   ("the same, a scrape every 15 s", 15, CONSOLE + ALERTS)):
            rate, cpu, by = at_rest(program, server, seconds, scrape, more)
            print(f"| {what} | {rate:.2f} | {cpu:.2f} | {by} |", flush=True)
